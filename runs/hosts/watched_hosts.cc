#include "runs/hosts/watched_hosts.h"

#include <utility>

#include "probes/gather/gather.h"

namespace plumbline {

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
