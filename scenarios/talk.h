// Who is supposed to talk to whom. In a star the leaves cannot reach one another, in a ring of
// cables only neighbours can, and a device matrix has holes: such pairs are not broken, so probes
// and link matrices skip them with the reason, and collectives can be kept to hosts that all reach
// one another. From the host file alone; pure, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace plumbline {

// Why these two hosts of the list are not supposed to talk, or empty. The same for (i, j) and (j,
// i) but for the order of the names. Reasons, the first that holds:
// - both name groups and share none,
// - both are places of an MLX ring whose neighbours all share a subnet, these two are none and
//   share none (a ring of cables; its backend alone says nothing, it runs over Ethernet too),
// - there is a whole device matrix, without a link between them, and no data addresses of theirs
//   share a subnet either.
std::string talk_reason(const std::vector<ScenarioHost>& hosts, size_t i, size_t j);

// The maximal sets of hosts that all may talk to one another (indices ascending), the largest
// first: the groups in which collectives can run. Every host is in at least one. Found as maximal
// cliques (C. Bron, J. Kerbosch, "Algorithm 457", CACM 16 (9), 1973, with a pivot); their number
// may be exponential, so the search ends after the first kMostGroups.
inline constexpr size_t kMostGroups = 1000;
std::vector<std::vector<size_t>> reachable_groups(const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
