#include "runs/hosts/agent_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/command.h"
#include "core/host/process_facts.h"
#include "core/side_by_side.h"
#include "probes/agent_requests.h"
#include "probes/gather/gather.h"
#include "reports/text.h"
#include "runs/hosts/reach.h"
#include "scenarios/host_files/find_data.h"

namespace plumbline {
namespace {

constexpr int64_t kStartMs = 8000;
constexpr int64_t kEndMs = 1000;

std::map<std::string, std::string> shared_options(const OptionSet& options) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : options.values()) out[name] = value.value;
  return out;
}

constexpr int64_t kAskMs = 5000;
constexpr int kMostCores = 1024;  // as many as `ranks` of a scenario

Expected<int> cores_of(HostAgent& agent, const std::string& name) {
  const auto reply = ask_agent(agent, AskCores{}, Deadline::after_ms(kAskMs));
  if (!reply && reply.error().code == ErrorCode::kWrongData) {
    return fail(ErrorCode::kProtocol, "the agent on " + name + ": " + reply.error().what);
  }
  if (!reply) return fail(reply.error());
  if (reply->cores >= 1 && reply->cores <= kMostCores) return reply->cores;
  return fail(ErrorCode::kProtocol,
              fmt::format("the agent on {} counts {} cores", name, reply->cores),
              "give the host a number of slots or `ranks`");
}

}  // namespace

AgentSet::AgentSet(const std::vector<ScenarioHost>& hosts, const Reach& reach,
                   const OptionSet& options)
    : reach_(reach), hosts_(hosts), options_(shared_options(options)) {
  started_.resize(hosts.size());
  std::vector<ServingCommand> places;
  std::vector<size_t> reachable;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const ScenarioHost& host = hosts[i];
    const bool remote = !host.ssh.empty();
    if (!host.local && host.netns.empty() && !remote) continue;
    if (const auto found = reach.not_pushed.find(host.name); found != reach.not_pushed.end()) {
      started_[i].cause = found->second.cause;
      started_[i].error = found->second;
      continue;
    }
    reachable.push_back(i);
    places.push_back(command_on(host, reach, "agent"));
  }
  auto started = start_agents(places, options_, Deadline::after_ms(kStartMs));
  for (size_t i = 0; i < started.size(); ++i) started_[reachable[i]] = std::move(started[i]);
}

AgentStart AgentSet::start_again(size_t host, Deadline deadline) const {
  const ServingCommand place = command_on(hosts_[host], reach_, "agent");
  return std::move(start_agents({place}, options_, deadline).front());
}

AgentSet::~AgentSet() {
  end_agents(started_);
  // Side by side: each may take a round trip.
  std::vector<const ScenarioHost*> connected;
  for (const ScenarioHost& host : hosts_) {
    if (!host.ssh.empty() && !reach_.control.path.empty()) connected.push_back(&host);
  }
  side_by_side(connected.size(), [&](size_t i) {
    // Where there is no connection any more, there is nothing to end.
    static_cast<void>(run_command(ssh_end_command(ssh_target(*connected[i], reach_)),
                                  Deadline::after_ms(kEndMs)));
  });
}

template <typename Request>
std::vector<std::optional<Expected<typename Request::Reply>>> AgentSet::ask_all() const {
  const Deadline deadline = Deadline::after_ms(kStartMs);
  std::vector<int64_t> tickets(hosts_.size());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    HostAgent* agent = started_[i].agent.get();
    if (agent != nullptr) tickets[i] = AgentWire<Request>::ask(*agent, {}, deadline);
  }
  std::vector<std::optional<Expected<typename Request::Reply>>> replies(hosts_.size());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    HostAgent* agent = started_[i].agent.get();
    if (agent != nullptr) replies[i] = AgentWire<Request>::reply(*agent, tickets[i]);
  }
  return replies;
}

HostMemory AgentSet::memory() const {
  HostMemory known;
  const auto replies = ask_all<AskMemory>();
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (!replies[i] || !*replies[i]) continue;
    HostFacts facts;
    facts.memory_available_bytes = (*replies[i])->available_bytes;
    facts.boot_id = (*replies[i])->machine;
    known.emplace(hosts_[i].name, std::move(facts));
  }
  return known;
}

tl::expected<std::vector<ScenarioHost>, std::vector<Error>> AgentSet::find_data_addresses() const {
  if (!wants_data_addresses(hosts_) || first_failure()) return hosts_;
  auto replies = ask_all<AskNics>();
  std::vector<std::vector<Nic>> nics(hosts_.size());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (!replies[i]) continue;
    if (*replies[i]) {
      nics[i] = std::move(**replies[i]);
      continue;
    }
    Error error = replies[i]->error();
    if (error.code == ErrorCode::kWrongData) {
      error.what = "the agent on " + hosts_[i].name + ": " + error.what;
      error.cause = "rank.agent_lost";
    }
    return tl::unexpected(std::vector<Error>{std::move(error)});
  }
  auto found = find_data(hosts_, nics);
  if (found) return std::move(*found);
  std::vector<Error> errors;
  for (const ScenarioProblem& problem : found.error()) {
    errors.push_back({ErrorCode::kConfig, problem.where + ": " + problem.message, 0, problem.hint,
                      "ip.missing"});
  }
  return tl::unexpected(std::move(errors));
}

std::optional<Error> AgentSet::first_failure() const {
  for (const AgentStart& start : started_) {
    if (start.agent == nullptr && !start.cause.empty()) return start.error;
  }
  return std::nullopt;
}

void AgentSet::put(size_t host, AgentStart start) { started_[host] = std::move(start); }

void AgentSet::attach(size_t host, Fd connection) {
  put(host, attach_agent(hosts_[host].name, std::move(connection), Deadline::after_ms(kStartMs),
                         options_));
}

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
    host.name = hosts_[i].name;
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

Status count_core_places(std::vector<ScenarioHost>& hosts, const OptionSet& options,
                         Caller& caller) {
  std::vector<ScenarioHost> remote;
  for (ScenarioHost& host : hosts) {
    if (host.ranks_of_cores && host.ssh.empty()) {
      host.ranks = physical_cores();
      host.ranks_of_cores = false;
    }
    if (host.ranks_of_cores) remote.push_back(host);
  }
  if (remote.empty()) return {};
  const Expected<Reach> reach = make_reach(options, remote, caller);
  if (!reach) return fail(reach.error());
  const AgentSet agents(remote, *reach, options);
  if (const auto failure = agents.first_failure()) return fail(*failure);
  size_t next = 0;
  for (ScenarioHost& host : hosts) {
    if (!host.ranks_of_cores) continue;
    const Expected<int> cores = cores_of(*agents.agents()[next++], host.name);
    if (!cores) return fail(cores.error());
    host.ranks = *cores;
    host.ranks_of_cores = false;
  }
  return {};
}

void tell_uncounted_places(const std::vector<ScenarioHost>& hosts, Caller& caller) {
  std::vector<std::string> names;
  for (const ScenarioHost& host : hosts) {
    if (host.ranks_of_cores) names.push_back(host.name);
  }
  if (names.empty()) return;
  caller.say(
      fmt::format("plumbline: {}: as many ranks as cores, which only a run finds out; planned "
                  "with 1 on each",
                  join(names, ", ")));
}

std::vector<WatchedPlace> watched_hosts(const AgentSet& agents, const Job& job) {
  const std::vector<HostAgent*> asked = agents.agents();
  const std::vector<HostEvidence> greetings = agents.greetings();
  EvidenceSet evidence;
  evidence.job = job;
  const std::vector<PairEvidence> pairs = pairs_to_try(evidence);
  std::vector<WatchedPlace> places;
  bool here = false;
  for (size_t i = 0; i < job.hosts.size() && i < asked.size(); ++i) {
    if (job.hosts[i].reached_by == "local" && std::exchange(here, true)) continue;
    WatchedHost host;
    host.name = job.hosts[i].name;
    host.agent = asked[i];
    if (host.agent == nullptr) host.unreachable = greetings[i].agent_error;
    for (const PairEvidence& pair : pairs) {
      if (pair.from != host.name || !pair.skipped.empty()) continue;
      host.peers.push_back({pair.to, pair.from_ip, pair.to_ip});
    }
    places.push_back({i, std::move(host)});
  }
  return places;
}

}  // namespace plumbline
