#include "runs/hosts/reach.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "core/command.h"
#include "core/encode.h"
#include "core/host/process_facts.h"
#include "core/side_by_side.h"
#include "launch/leftovers.h"
#include "launch/process.h"
#include "launch/push.h"
#include "runs/build.h"

namespace plumbline {
namespace {

// The number of a user's own group, which need not be named like the user ("nogroup" of "nobody").
std::string group_of(const std::string& user) {
  const passwd* entry = getpwnam(user.c_str());
  return entry != nullptr ? std::to_string(entry->pw_gid) : user;
}

std::string home_expanded(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.rfind("~/", 0) == 0 && home != nullptr ? home + path.substr(1) : path;
}

constexpr int64_t kLookMs = 10'000;
constexpr int64_t kSendMs = 300'000;  // 20 MB at half a megabit per second
constexpr size_t kAtOnce = 16;        // each holds a copy of the program while it sends

class Pusher {
 public:
  Pusher(Reach& reach, const OptionSet& options, Caller& caller)
      : reach_(reach), always_(options.text("push") == "always"), caller_(caller) {
    for (const StaticMachine& machine : static_machines()) {
      const std::vector<std::string> places =
          static_places(reach.program, options.text("static_dir"), machine);
      ours_.emplace(platform_of(machine), find_static_binary(places, machine, build_));
    }
  }

  void run(const std::vector<const ScenarioHost*>& hosts) {
    std::atomic<size_t> next{0};
    side_by_side(std::min(hosts.size(), kAtOnce), [&](size_t) {
      for (size_t at = next++; at < hosts.size(); at = next++) settle(*hosts[at]);
    });
  }

 private:
  // Where plumbline lies on this host afterwards; empty = at its own place.
  void settle(const ScenarioHost& host) {
    const Expected<std::string> place = place_on(host);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!place) {
      reach_.not_pushed[host.name] = place.error();
    } else if (!place->empty()) {
      reach_.pushed[host.name] = *place;
    }
  }

  Expected<std::string> place_on(const ScenarioHost& host) {
    PushQuestion question;
    question.accept_own = !always_;
    question.build = build_;
    question.program = host.binary.empty() ? reach_.program : host.binary;
    for (const auto& [platform, binary] : ours_) {
      // A platform without a program of ours is told apart by its name in the answer.
      question.hashes[platform] = binary ? binary->sha256 : "none";
    }
    const Expected<PushAnswer> looked = ask(host, push_look_words(question), {}, kLookMs);
    if (!looked) return fail(looked.error());
    if (looked->word == "own") return std::string();
    if (looked->word == "there") return looked->text;
    const auto binary = ours_.find(looked->text);
    const bool known = looked->word == "send" && binary != ours_.end();
    if (known && binary->second) return send(host, *binary->second);
    Error error = known ? binary->second.error() : push_failure(host.name, *looked);
    if (known) error.what = host.name + " needs plumbline, and " + error.what;
    error.cause = "ssh.no_binary";
    // Of another build, but it starts: whether its version fits is judged as without push.
    if (always_ || !looked->present) return fail(std::move(error));
    say(fmt::format("{} keeps its own plumbline, of another build: {}", host.name,
                    error.message()));
    return std::string();
  }

  Expected<std::string> send(const ScenarioHost& host, const StaticBinary& binary) {
    constexpr double kMegabyte = 1e6;
    constexpr size_t kIdLength = 16;
    say(fmt::format("sending {} ({:.1f} MB) to {}", binary.path,
                    static_cast<double>(binary.content.size()) / kMegabyte, host.name));
    const PushShipment shipment{binary.sha256, build_, binary.content.size(),
                                to_hex(random_token()).substr(0, kIdLength)};
    const Expected<PushAnswer> sent = ask(host, push_send_words(shipment), binary.content, kSendMs);
    if (!sent) return fail(sent.error());
    if (sent->word == "there") return sent->text;
    return fail(push_failure(host.name, *sent));
  }

  Expected<PushAnswer> ask(const ScenarioHost& host, const std::vector<std::string>& words,
                           const std::string& input, int64_t limit_ms) const {
    CommandOptions options;
    constexpr size_t kMostAnswer = 64 << 10;
    options.input = input;
    options.max_bytes = kMostAnswer;
    options.stop = [this] { return static_cast<int>(caller_.ask()); };
    const Expected<CommandResult> done = run_command(ssh_command(ssh_target(host, reach_), words),
                                                     Deadline::after_ms(limit_ms), options);
    const std::string what = "look for plumbline on " + host.name + " over ssh";
    if (!done) {
      Error error = done.error();
      error.what = what + ": " + error.what;
      error.cause = "ssh.unreachable";
      return fail(std::move(error));
    }
    const PushAnswer answer = read_push_answer(done->out);
    if (!answer.word.empty()) return answer;
    const std::string cause = ssh_cause(done->err, done->status);
    return fail(Error{ErrorCode::kPeerLost, fmt::format("{}: exit status {}", what, done->status),
                      0, done->err.substr(0, done->err.find_last_not_of("\r\n") + 1),
                      cause.empty() ? "ssh.no_binary" : cause});
  }

  void say(const std::string& text) { caller_.say("plumbline: " + text); }

  Reach& reach_;
  const bool always_;
  Caller& caller_;
  const std::string build_ = own_build();
  std::map<std::string, Expected<StaticBinary>> ours_;  // by platform
  std::mutex mutex_;                                    // over reach_.pushed and reach_.not_pushed
};

}  // namespace

Expected<Reach> make_reach(const std::string& program, const OptionSet& options,
                           const std::vector<ScenarioHost>& hosts, Caller& caller) {
  Reach reach{program, options.text("ssh_config"), {}, "", {}, {}};
  if (!any_by_ssh(hosts)) return reach;
  Expected<SshControl> control = ssh_control();
  if (!control) return fail(control.error());
  reach.control = std::move(*control);
  push_programs(reach, options, hosts, caller);
  return reach;
}

Expected<Reach> make_reach(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                           Caller& caller) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  return make_reach(*program, options, hosts, caller);
}

SshTarget ssh_target(const ScenarioHost& host, const Reach& reach) {
  return {host.ssh,         host.user,         host.port, home_expanded(host.key),
          reach.ssh_config, reach.control.path};
}

std::vector<std::string> command_line_on(const ScenarioHost& host, const Reach& reach,
                                         const std::vector<std::string>& words) {
  std::vector<std::string> argv;
  if (!host.ssh.empty()) {
    // Nothing of our own environment goes there.
    if (!reach.run_id.empty()) argv = {"env", std::string(kRunIdVariable) + "=" + reach.run_id};
  } else if (!host.netns.empty()) {
    argv = {"ip", "netns", "exec", host.netns};
  }
  if (host.ssh.empty() && !host.user.empty()) {
    const std::vector<std::string> become = {
        "setpriv",           "--reuid",        host.user,        "--regid",
        group_of(host.user), "--clear-groups", "--inh-caps=-all"};
    argv.insert(argv.end(), become.begin(), become.end());
  }
  const auto pushed = reach.pushed.find(host.name);
  const std::string& own = host.binary.empty() ? reach.program : host.binary;
  argv.push_back(pushed != reach.pushed.end() ? pushed->second : own);
  argv.insert(argv.end(), words.begin(), words.end());
  return host.ssh.empty() ? argv : ssh_command(ssh_target(host, reach), argv);
}

ServingCommand command_on(const ScenarioHost& host, const Reach& reach,
                          const std::string& command) {
  const bool remote = !host.ssh.empty();
  std::vector<std::string> words = {command};
  if (remote) words.insert(words.end(), {"--lease", std::to_string(kLeaseS)});
  return {host.name, command_line_on(host, reach, words), remote};
}

bool any_by_ssh(const std::vector<ScenarioHost>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const ScenarioHost& host) { return !host.ssh.empty(); });
}

bool wants_data_addresses(const std::vector<ScenarioHost>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [](const ScenarioHost& host) {
    return host.ring || (host.data.empty() && !host.data_interfaces.empty());
  });
}

void push_programs(Reach& reach, const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                   Caller& caller) {
  if (options.text("push") == "never" || !any_by_ssh(hosts)) return;
  std::vector<const ScenarioHost*> remote;
  for (const ScenarioHost& host : hosts) {
    if (!host.ssh.empty()) remote.push_back(&host);
  }
  Pusher(reach, options, caller).run(remote);
}

}  // namespace plumbline
