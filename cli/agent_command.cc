// The commands that serve a coordinator, which starts them and speaks to them over standard input
// and output until that ends: `agent` answers what the diagnosis asks this host
// (docs/agent_protocol.md), `rank` measures, `guard` runs a program of `launch`, `rdma-climb` tries
// what may crash. Where nobody can start an agent from afar, a person starts it with --listen and
// pastes the line that it prints on the machine of the coordinator.

#include "cli/agent_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>

#include "cli/commands.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "core/encode.h"
#include "core/fd.h"
#include "launch/agent_link.h"
#include "launch/agent_loop.h"
#include "launch/guard.h"
#include "launch/process.h"
#include "probes/actions/actions.h"
#include "probes/actions/rdma_climb.h"
#include "probes/actions/rdma_meet.h"
#include "runs/build.h"
#include "runs/ranks/rank_loop.h"

namespace plumbline {
namespace {

constexpr int kDefaultPort = 29499;  // below the ranks' ports, so that it is in nobody's way
constexpr int kDefaultMinutes = 10;
constexpr int64_t kMostThreads = 1024;  // as many as ranks

// How long this process serves somebody who says nothing, in ms.
Expected<int64_t> lease_flag(const Args& args) {
  constexpr int64_t kLongestLeaseS = 3600;
  const Expected<int64_t> seconds = flag_number(args, "lease", 0, 0, kLongestLeaseS);
  if (!seconds) return seconds;
  return *seconds * 1000;
}

AgentLoopSettings loop_settings(const Args& args) {
  AgentLoopSettings settings;
  settings.version = PLUMBLINE_VERSION;
  settings.build = own_build();
  const auto options = resolve_options(args);
  if (options) {
    // What this host's environment sets; defaults are no opinion.
    for (const auto& [name, value] : options->values()) {
      if (value.origin != "default") settings.config[name] = value.value;
    }
  } else {
    // It differs from a host where the environment is right, and so becomes a finding.
    settings.config["environment"] = options.error().front().message();
  }
  return settings;
}

// Whatever prints to standard output by mistake must not end up between the answers.
Fd move_output_away() {
  Fd answers(dup(STDOUT_FILENO));
  if (answers.valid()) dup2(STDERR_FILENO, STDOUT_FILENO);
  return answers;
}

int serve_coordinator(const Args& args, Context& context) {
  if (isatty(STDIN_FILENO) != 0) {
    *context.err << "plumbline: `agent` is started by the coordinator, not by hand; "
                    "by hand: plumbline agent --listen\n";
    return 1;
  }
  die_with_parent();
  const Fd answers = move_output_away();
  AgentSession session;
  const Expected<int64_t> lease_ms = lease_flag(args);
  if (!lease_ms) return usage_failure(context, lease_ms.error());
  AgentLoopSettings settings = loop_settings(args);
  settings.lease_ms = *lease_ms;
  const Status served = serve_agent(STDIN_FILENO, answers.get(), session.requests(), settings);
  end_soon();
  return served ? 0 : usage_failure(context, served.error());
}

struct Listening {
  std::vector<std::string> addresses;
  int port = 0, minutes = 0;
  std::string token, token_file;
};

Expected<Listening> what_to_listen_on(const Args& args) {
  Listening listening;
  constexpr int kMostPort = 65535, kMostMinutes = 24 * 60;
  const Expected<int64_t> port = flag_number(args, "port", kDefaultPort, 0, kMostPort);
  if (!port) return fail(port.error());
  const Expected<int64_t> minutes = flag_number(args, "minutes", kDefaultMinutes, 1, kMostMinutes);
  if (!minutes) return fail(minutes.error());
  listening.port = static_cast<int>(*port);
  listening.minutes = static_cast<int>(*minutes);
  listening.addresses = args.all("address");
  if (listening.addresses.empty()) {
    const Expected<std::vector<Nic>> nics = list_nics();
    if (!nics) return fail(nics.error());
    listening.addresses = listening_addresses(*nics);
  }
  listening.token = to_hex(random_token());
  if (const char* file = std::getenv(kTokenVariable); file != nullptr && *file != '\0') {
    Expected<std::string> token = read_token(file);
    if (!token) return fail(token.error());
    listening.token = std::move(*token);
    listening.token_file = file;
  }
  return listening;
}

void invite(const Listening& listening, int port, Context& context) {
  *context.err << fmt::format(
      "plumbline: listening for {} min, for one coordinator; paste this line on the other "
      "machine:\n",
      listening.minutes);
  *context.out << paste_line(listening.addresses.front(), port, listening.token,
                             listening.token_file)
               << std::endl;
  for (size_t i = 1; i < listening.addresses.size(); ++i) {
    *context.err << (i == 1 ? "plumbline: if that address cannot be reached from there: " : ", ")
                 << listening.addresses[i];
  }
  if (listening.addresses.size() > 1) *context.err << std::endl;
}

int listen_for_coordinator(const Args& args, Context& context) {
  const Expected<Listening> listening = what_to_listen_on(args);
  if (!listening) return usage_failure(context, listening.error());
  constexpr int64_t kMinuteMs = 60'000;
  AgentSession session;
  const Status served =
      serve_one_coordinator(listening->addresses, listening->port, listening->token,
                            listening->minutes * kMinuteMs, session.requests(), loop_settings(args),
                            [&](int port) { invite(*listening, port, context); });
  end_soon();
  if (!served) return usage_failure(context, served.error());
  *context.err << "plumbline: the coordinator has gone, this agent ends\n";
  return 0;
}

}  // namespace

std::vector<std::string> listening_addresses(const std::vector<Nic>& nics) {
  std::vector<std::string> cards, others;
  for (const Nic& nic : nics) {
    if (!nic.up) continue;
    const bool card = nic.kind == "ethernet" || nic.kind == "wifi";
    for (const NicAddress& address : nic.addresses) {
      if (address.loopback || address.link_local) continue;
      (card ? cards : others).push_back(address.ip);
    }
  }
  // People read and type IPv4 addresses more easily.
  std::stable_partition(cards.begin(), cards.end(),
                        [](const std::string& ip) { return ip.find(':') == std::string::npos; });
  cards.insert(cards.end(), others.begin(), others.end());
  if (cards.empty()) cards.emplace_back("127.0.0.1");
  return cards;
}

std::string paste_line(const std::string& address, int port, const std::string& token,
                       const std::string& token_file) {
  const bool v6 = address.find(':') != std::string::npos;
  const std::string peer = fmt::format("{}:{}", v6 ? "[" + address + "]" : address, port);
  if (!token_file.empty()) {
    return fmt::format("{}={} plumbline doctor --peer {}", kTokenVariable, token_file, peer);
  }
  return fmt::format("echo {} | {}=/dev/stdin plumbline doctor --peer {}", token, kTokenVariable,
                     peer);
}

int run_agent(const Args& args, Context& context) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const char* name : {"port", "address", "minutes"}) {
    if (args.has(name) && !args.has("listen")) {
      return usage_failure(context,
                           usage_error(std::string("--") + name + " goes with --listen only",
                                       "see plumbline agent --help"));
    }
  }
  return args.has("listen") ? listen_for_coordinator(args, context)
                            : serve_coordinator(args, context);
}

int run_rank(const Args& args, Context& context) {
  if (isatty(STDIN_FILENO) != 0) {
    *context.err << "plumbline: `rank` is started by the coordinator, not by hand; "
                    "see plumbline run --help\n";
    return 1;
  }
  const Expected<int64_t> lease_ms = lease_flag(args);
  if (!lease_ms) return usage_failure(context, lease_ms.error());
  const Expected<int64_t> threads = flag_number(args, "threads", 0, 1, kMostThreads);
  if (!threads) return usage_failure(context, threads.error());
  die_with_parent();
  if (*lease_ms > 0) {  // behind ssh; without it a stopped rank would stay
    if (const Status watched = watch_for_stops(STDIN_FILENO); !watched) {
      return usage_failure(context, watched.error());
    }
  }
  RankLine line;
  line.from = STDIN_FILENO;
  line.to = STDOUT_FILENO;
  line.lease_ms = *lease_ms;
  line.over = end_soon;
  if (*threads == 0) return serve_rank(line);
  const Status served = serve_rank_threads(static_cast<int>(*threads), line);
  return served ? 0 : usage_failure(context, served.error());
}

int run_guard(const Args& args, Context& context) {
  const Expected<int64_t> lease_ms = lease_flag(args);
  if (!lease_ms) return usage_failure(context, lease_ms.error());
  const Expected<int64_t> over = flag_number(args, "over", 0, 1, std::numeric_limits<pid_t>::max());
  if (!over) return usage_failure(context, over.error());
  if (*over > 0) {
    end_when_abandoned(static_cast<pid_t>(*over), STDIN_FILENO);
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  watch_interrupts();
  std::string line;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) line += c;
  const Expected<GuardOrder> order = decode_guard_order(line);
  if (!order) return usage_failure(context, order.error());
  GuardSettings settings;
  settings.input = STDIN_FILENO;
  settings.lease_ms = *lease_ms;
  settings.ended = [] { return interrupts() > 0; };
  const Expected<int> status = run_guarded(*order, settings);
  if (status) return *status;
  constexpr int kNotStarted = 127;
  usage_failure(context, status.error());
  return kNotStarted;
}

int run_rdma_climb(const Args& args, Context& context) {
  constexpr int64_t kMostPorts = 255;
  const Expected<int64_t> port = flag_number(args, "port", 1, 1, kMostPorts);
  if (!port) return usage_failure(context, port.error());
  die_with_parent();
  climb_rdma(
      {args.get("device"), static_cast<int>(*port), args.get("library"), args.has("counts")});
  return 0;
}

int run_rdma_meet(const Args& args, Context& context) {
  constexpr int64_t kMostPort = 65'535;
  const Expected<int64_t> port = flag_number(args, "tcp-port", 0, 1, kMostPort);
  if (!port) return usage_failure(context, port.error());
  die_with_parent();
  AskRdmaMeet asked;
  asked.from_ip = args.get("own");
  asked.to_ip = args.get("peer");
  asked.interface = args.get("interface");
  asked.port = static_cast<int>(*port);
  asked.listens = args.get("role") == "listens";
  asked.device = args.get("device");
  asked.library = args.get("library");
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) asked.nonce += c;
  if (asked.nonce.empty()) {
    return usage_failure(context, {ErrorCode::kUsage, "no nonce on standard input", 0, "", ""});
  }
  meet_over_rdma(asked);
  return 0;
}

}  // namespace plumbline
