#include "runs/hosts/core_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/physical_cores.h"
#include "probes/agent_requests.h"
#include "reports/text.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/reach.h"

namespace plumbline {
namespace {

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

}  // namespace plumbline
