// Which host each rank of a world runs on, and who is supposed to talk to whom. In a star the
// leaves cannot reach one another, in a ring of cables only neighbours can, and a device matrix has
// holes: such pairs are not broken, so probes and link matrices skip them with the reason, and
// collectives go over the hosts between, or are kept to hosts that all reach one another. Pure
// functions of the hosts and of what a cell asks for; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/topology.h"
#include "scenarios/scenario.h"

namespace plumbline {

// Between the names in Cell::hosts.
inline constexpr char kHostJoint = '+';

// Indices in `hosts` of those that Cell::hosts names ("" = all), ascending.
std::vector<size_t> hosts_of(const std::vector<ScenarioHost>& hosts, const std::string& named);

// Places that these hosts have for ranks.
int places_in(const std::vector<ScenarioHost>& hosts, const std::string& named);

// The host (an index in `hosts`) of each rank: with "block" (and "") as many on each host as it has
// places, one host after the other; with "cyclic" the hosts in turn, while they have places. More
// ranks than places (oversubscribed) are spread evenly.
std::vector<size_t> place_ranks(const std::vector<ScenarioHost>& hosts, const WorldShape& world);

// Pairs of ranks on hosts that are not supposed to talk: they are not connected. `placement` names
// the host of each rank.
RankPairs apart_ranks(const std::vector<ScenarioHost>& hosts, const std::vector<size_t>& placement);

// Every two ranks have a link of their own, as far as addresses tell: each is alone on its host,
// has an address that faces each of the others, and none that faces two.
bool have_own_cables(const std::vector<ScenarioHost>& hosts, const std::vector<size_t>& placement);

// Two hosts of this world that are not supposed to talk, and why, in words; empty = all may.
std::string apart_reason(const std::vector<ScenarioHost>& hosts, const WorldShape& world);

// Does this address, by its prefix length, lie in one network with one of the other host's?
bool faces(const std::string& own, const ScenarioHost& other);

// Why these two hosts of the list are not supposed to talk, or empty. The same for (i, j) and (j,
// i) but for the order of the names. Reasons, the first that holds:
// - both name groups and share none,
// - both are places of an MLX ring whose neighbours all share a subnet, these two are none and
//   share none (a ring of cables; its backend alone says nothing, it runs over Ethernet too),
// - there is a whole device matrix, without a link between them, and no data addresses of theirs
//   share a subnet either.
std::string talk_reason(const std::vector<ScenarioHost>& hosts, size_t i, size_t j);

// The maximal sets of hosts that all may talk to one another (indices ascending), the largest
// first: the groups in which every algorithm can run. Every host is in at least one. Found as
// maximal cliques (C. Bron, J. Kerbosch, "Algorithm 457", CACM 16 (9), 1973, with a pivot); their
// number may be exponential, so the search ends after the first kMostGroups.
inline constexpr size_t kMostGroups = 1000;
std::vector<std::vector<size_t>> reachable_groups(const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
