// Which hosts of a job are looked at again and again, and the routes of each. Pure.
#pragma once

#include <vector>

#include "probes/evidence.h"
#include "probes/gather/host_watcher.h"
#include "runs/hosts/agent_set.h"

namespace plumbline {

struct WatchedPlace {
  size_t index = 0;  // in the job and the agents
  WatchedHost host;
};
// Several hosts that are this very machine see the same: the first one stands for them.
std::vector<WatchedPlace> watched_hosts(const AgentSet& agents, const Job& job);

}  // namespace plumbline
