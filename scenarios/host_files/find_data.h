// The addresses under test that a host file does not name, from what the hosts' agents see. In a
// JACCL file they are those of the interfaces behind the matrix's devices (rdma_en4 -> en4): its
// `ips` is the address of the coordinator, and the control network is never measured by mistake. In
// an MLX ring file each host's `ips` may face the host before it only, so that its addresses
// towards the next one are missing, and no prefix length is said. Pure.
#pragma once

#include <vector>

#include "core/host/host.h"
#include "scenarios/scenario.h"

namespace plumbline {

// The hosts with `data` filled in; `nics[i]` = the interfaces of host i (empty: nobody could be
// asked, and the host stays as it is). Hosts that name their addresses stay as they are. A problem
// for every host of which no data address can be found, with what was looked for.
OrProblems<std::vector<ScenarioHost>> find_data(std::vector<ScenarioHost> hosts,
                                                const std::vector<std::vector<Nic>>& nics);

}  // namespace plumbline
