#include "cli/agent_set.h"

#include <pwd.h>

#include <algorithm>

namespace plumbline {
namespace {

// The number of a user's own group, which need not be named like the user ("nogroup" of "nobody").
std::string group_of(const std::string& user) {
  const passwd* entry = getpwnam(user.c_str());
  return entry != nullptr ? std::to_string(entry->pw_gid) : user;
}

constexpr int64_t kStartMs = 8000;

std::map<std::string, std::string> shared_options(const OptionSet& options) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : options.values()) out[name] = value.value;
  return out;
}

}  // namespace

std::vector<std::string> command_on(const ScenarioHost& host, const std::string& program,
                                    const std::string& command) {
  std::vector<std::string> argv;
  if (!host.netns.empty()) argv = {"ip", "netns", "exec", host.netns};
  if (!host.user.empty()) {
    const std::vector<std::string> become = {
        "setpriv",           "--reuid",        host.user,        "--regid",
        group_of(host.user), "--clear-groups", "--inh-caps=-all"};
    argv.insert(argv.end(), become.begin(), become.end());
  }
  argv.push_back(host.binary.empty() ? program : host.binary);
  argv.push_back(command);
  return argv;
}

AgentSet::AgentSet(const std::vector<ScenarioHost>& hosts, const std::string& program,
                   const OptionSet& options) {
  std::vector<AgentPlace> places;
  std::vector<size_t> reachable;
  for (const ScenarioHost& host : hosts) {
    if (host.local || !host.netns.empty()) {
      reachable.push_back(names_.size());
      places.push_back({host.name, command_on(host, program, "agent")});
    }
    names_.push_back(host.name);
  }
  auto started = start_agents(places, shared_options(options), Deadline::after_ms(kStartMs));
  started_.resize(hosts.size());
  for (size_t i = 0; i < started.size(); ++i) started_[reachable[i]] = std::move(started[i]);
}

void AgentSet::put(size_t host, AgentStart start) { started_[host] = std::move(start); }

std::vector<HostAgent*> AgentSet::agents() const {
  std::vector<HostAgent*> out;
  for (const AgentStart& start : started_) out.push_back(start.agent.get());
  return out;
}

namespace {

// What all hosts' environments say alike is no drift between them: the job's own flags and files
// may well overrule it.
void drop_what_all_agree_on(std::vector<HostEvidence>& hosts) {
  std::vector<HostEvidence*> asked;
  for (HostEvidence& host : hosts) {
    if (host.source == "agent") asked.push_back(&host);
  }
  if (asked.empty()) return;
  const std::map<std::string, std::string> first = asked[0]->config;
  for (const auto& option : first) {
    const std::string& name = option.first;
    const std::string& value = option.second;
    const bool everywhere = std::all_of(asked.begin(), asked.end(), [&](const HostEvidence* host) {
      const auto found = host->config.find(name);
      return found != host->config.end() && found->second == value;
    });
    for (HostEvidence* host : asked) {
      if (everywhere) host->config.erase(name);
    }
  }
}

}  // namespace

std::vector<HostEvidence> AgentSet::greetings() const {
  std::vector<HostEvidence> out;
  for (size_t i = 0; i < started_.size(); ++i) {
    const AgentStart& start = started_[i];
    HostEvidence host;
    host.name = names_[i];
    host.version = start.hello.version;
    host.build = start.hello.build;
    host.agent_pid = start.hello.pid;
    host.config = start.hello.config;
    host.uid = start.hello.uid;
    if (start.agent != nullptr) {
      host.source = "agent";
      host.clock_offset_ns = start.hello.clock_offset_ns;
      host.clock_uncertainty_ns = start.hello.clock_uncertainty_ns;
    } else if (start.cause.empty()) {
      host.agent_error = "no agent there: its side is judged from the others only";
    } else {
      host.agent_cause = start.cause;
      host.agent_error = start.error.message();
    }
    out.push_back(std::move(host));
  }
  drop_what_all_agree_on(out);
  return out;
}

}  // namespace plumbline
