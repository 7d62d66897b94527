// Which neighbours this host's system knows on its links, and whether they answer: its own table of
// ARP (RFC 826) and neighbour discovery (RFC 4861), as it stands. Nothing is sent. Platform code:
// neighbour_table_linux.cc, neighbour_table_macos.cc. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/gather/host_watch.h"

namespace plumbline {

// At most `most`, those with an address in `first` before all others; without multicast and what
// needs no resolution. Nothing where the system does not tell.
std::optional<std::vector<WatchNeighbour>> read_neighbours(const std::set<std::string>& first,
                                                           size_t most, const AgentCall& call);

}  // namespace plumbline
