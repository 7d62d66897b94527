// The kernel's table of neighbours over rtnetlink(7), entry by entry. Thread-safe.
#pragma once

#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"

namespace plumbline {

struct KernelNeighbour {
  int interface = 0;  // index
  std::string ip;
  std::string mac;    // empty when it is not known
  std::string state;  // as ip-neighbour(8) prints it
};
// `family`: AF_INET, AF_INET6, or AF_UNSPEC for both.
Expected<std::vector<KernelNeighbour>> kernel_neighbours(int family, const AgentCall& call);

}  // namespace plumbline
