// Starting and greeting agents; agents that listen are in agent_socket.cc.

#include "launch/agent_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/command.h"
#include "core/error.h"
#include "core/json.h"
#include "core/side_by_side.h"
#include "launch/agent_connection.h"
#include "launch/agent_lines.h"
#include "launch/ssh.h"

namespace plumbline {
namespace {

using nlohmann::json;

// How a start that failed is called, by what the starting programs say; first match wins. Shells
// and env answer 127 and 126; `ip netns exec` says what it could not do.
struct StartFailure {
  const char* words;
  const char* cause;
};
constexpr StartFailure kStartFailures[] = {
    {"Exec format error", "ssh.wrong_binary"},
    {"cannot execute binary file", "ssh.wrong_binary"},
    {"Bad CPU type", "ssh.wrong_binary"},
    {"exec of ", "ssh.no_binary"},  // ip netns exec
    {"Cannot open network namespace", "ssh.unreachable"},
    {"etting the network namespace", "ssh.unreachable"},
    {"mount of /sys failed", "ssh.unreachable"},
    {"make-rslave", "ssh.unreachable"},
    {"unshare failed", "ssh.unreachable"},
};

// Of an agent that ended before it was greeted.
std::string start_cause(const AgentEnding& ending) {
  constexpr int kNotExecutable = 126, kNotFound = 127;
  if (ending.ever_spoke || ending.exit_status <= 0) return ending.error.cause;
  if (ending.remote) {
    const std::string cause = ssh_cause(ending.last_words, ending.exit_status);
    return cause.empty() ? ending.error.cause : cause;
  }
  for (const StartFailure& row : kStartFailures) {
    if (ending.last_words.find(row.words) != std::string::npos) return row.cause;
  }
  if (ending.exit_status == kNotExecutable || ending.exit_status == kNotFound) {
    return "ssh.no_binary";
  }
  return ending.error.cause;
}

Expected<AgentHello> read_hello(const std::string& host, const json& reply) {
  Expected<HelloReply> said = parse_hello(reply);
  if (!said) {
    const std::string what = "the agent on " + host + " talks nonsense: " + said.error().what;
    return fail({ErrorCode::kProtocol, what, 0, {}, "rank.agent_lost"});
  }
  AgentHello hello{std::move(*said)};
  if (hello.version != PLUMBLINE_VERSION) {
    return fail({ErrorCode::kMismatch,
                 fmt::format("{} runs plumbline {}, this machine {}", host, excerpt(hello.version),
                             PLUMBLINE_VERSION),
                 0, "install the same version on every host", "config.version_mismatch"});
  }
  hello.clock_uncertainty_ns = std::numeric_limits<int64_t>::max();
  return hello;
}

// Keeps the exchange that took least: its midpoint lies nearest to when the agent looked.
void keep_fastest(AgentHello& hello, int64_t theirs, const ExchangeTimes& times) {
  constexpr int64_t kYear2200Ns = 7'258'118'400'000'000'000;
  const int64_t half = (times.received_ns - times.sent_ns) / 2;
  if (theirs < 0 || theirs > kYear2200Ns || half < 0 || half >= hello.clock_uncertainty_ns) return;
  hello.clock_offset_ns = theirs - (times.sent_ns + half);
  hello.clock_uncertainty_ns = half;
}

// One agent on its way from a connection to an AgentStart.
struct Greeting {
  AgentStart start;
  std::unique_ptr<AgentConnection> connection;  // null when it failed
  int64_t ticket = 0;
};

void refuse(Greeting& greeting, Error error, const std::string& cause,
            std::vector<std::unique_ptr<AgentConnection>>& refused) {
  error.cause = greeting.start.cause = cause;
  greeting.start.error = std::move(error);
  if (greeting.connection) refused.push_back(std::move(greeting.connection));
}

void finish_hello(Greeting& greeting, std::vector<std::unique_ptr<AgentConnection>>& refused) {
  AgentConnection& connection = *greeting.connection;
  ExchangeTimes times;
  const Expected<json> reply = connection.reply(greeting.ticket, &times);
  if (!reply) {
    const std::optional<AgentEnding> ending = connection.ending();
    Error error = ending ? ending->error : reply.error();
    if (ending && ending->remote && !ending->ever_spoke) {
      error.what = fmt::format("start plumbline on {} over ssh: exit status {}", connection.host(),
                               ending->exit_status);
    }
    if (!ending && error.hint.empty()) error.hint = connection.words();
    return refuse(greeting, std::move(error), ending ? start_cause(*ending) : "rank.agent_lost",
                  refused);
  }
  const Expected<AgentHello> hello = read_hello(connection.host(), *reply);
  if (!hello) return refuse(greeting, hello.error(), hello.error().cause, refused);
  greeting.start.hello = *hello;
  keep_fastest(greeting.start.hello, hello->time_ns, times);
}

// All agents at once, so that one that is slow costs the others nothing.
void measure_clocks(std::vector<Greeting>& greetings, Deadline deadline) {
  constexpr int kTimeRequests = 5;
  constexpr int64_t kTimeLimitNs = 1 * kSecond;
  for (int round = 0; round < kTimeRequests; ++round) {
    const Deadline limit = Deadline::after_ns(std::min(deadline.remaining_ns(), kTimeLimitNs));
    for (Greeting& greeting : greetings) {
      if (!greeting.connection) continue;
      greeting.ticket = greeting.connection->ask(kTimeRequest, json::object(), limit);
    }
    for (Greeting& greeting : greetings) {
      if (!greeting.connection) continue;
      ExchangeTimes times;
      const Expected<json> reply = greeting.connection->reply(greeting.ticket, &times);
      if (reply) keep_fastest(greeting.start.hello, parse_time(*reply), times);
    }
  }
}

// Each may take most of a second to end, all together no longer.
template <typename T>
void destroy_all(std::vector<std::unique_ptr<T>> agents) {
  side_by_side(agents.size(), [&](size_t i) { agents[i].reset(); });
}

Expected<std::unique_ptr<AgentConnection>> start_one(const ServingCommand& place) {
  std::vector<std::string> argv = place.argv;
  if (argv.empty()) argv.emplace_back();
  const std::string shown =
      fmt::format("start the agent of {} ({})", place.host, fmt::join(argv, " "));
  // A user's PATH often lacks /usr/sbin, where ip is.
  if (const std::string found = find_program(argv[0]); !found.empty()) argv[0] = found;
  ProcessOptions options;
  options.catch_errors = true;
  Expected<std::unique_ptr<Process>> process = Process::spawn(argv, options);
  if (!process) {
    const int err = process.error().sys_errno;
    // A limit of this machine says nothing of the program.
    if (const std::string hint = resource_hint(err); !hint.empty()) {
      return fail(Error{ErrorCode::kSystem, shown, err, hint, "rank.agent_lost"});
    }
    Error error{ErrorCode::kSystem, shown, err, "is plumbline installed there, at that path?",
                err == ENOEXEC ? "ssh.wrong_binary" : "ssh.no_binary"};
    return fail(std::move(error));
  }
  Process& agent = **process;
  return AgentConnection::open(place.host,
                               {agent.take_input(), agent.take_output(), agent.take_errors(),
                                std::move(*process), place.remote});
}

}  // namespace

std::vector<AgentStart> greet_agents(
    std::vector<Expected<std::unique_ptr<AgentConnection>>> connections,
    const std::map<std::string, std::string>& config, Deadline deadline) {
  std::vector<Greeting> greetings(connections.size());
  std::vector<std::unique_ptr<AgentConnection>> refused;
  for (size_t i = 0; i < connections.size(); ++i) {
    Greeting& greeting = greetings[i];
    if (!connections[i]) {
      refuse(greeting, connections[i].error(), connections[i].error().cause, refused);
      continue;
    }
    greeting.connection = std::move(*connections[i]);
    greeting.ticket = greeting.connection->ask(
        kHelloRequest, hello_params(greeting.connection->host(), config), deadline);
  }
  for (Greeting& greeting : greetings) {
    if (greeting.connection) finish_hello(greeting, refused);
  }
  measure_clocks(greetings, deadline);
  destroy_all(std::move(refused));
  std::vector<AgentStart> starts;
  for (Greeting& greeting : greetings) {
    greeting.start.agent = std::move(greeting.connection);
    starts.push_back(std::move(greeting.start));
  }
  return starts;
}

std::vector<AgentStart> start_agents(const std::vector<ServingCommand>& places,
                                     const std::map<std::string, std::string>& config,
                                     Deadline deadline) {
  // From this very thread, see Process::spawn; it takes about a millisecond each.
  std::vector<Expected<std::unique_ptr<AgentConnection>>> connections;
  for (const ServingCommand& place : places) connections.push_back(start_one(place));
  return greet_agents(std::move(connections), config, deadline);
}

void end_agents(std::vector<AgentStart>& starts) {
  std::vector<std::unique_ptr<HostAgent>> agents;
  for (AgentStart& start : starts) agents.push_back(std::move(start.agent));
  destroy_all(std::move(agents));
}

}  // namespace plumbline
