// Which host each rank of a world runs on. Pure functions of the hosts and of what a cell asks for;
// thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

// Two hosts of this world that are not supposed to talk, and why, in words; empty = all may, so
// that collectives can run.
std::string apart_reason(const std::vector<ScenarioHost>& hosts, const WorldShape& world);

}  // namespace plumbline
