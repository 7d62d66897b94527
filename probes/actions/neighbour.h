// What the kernel would do with a packet to an address, asked and not tried; and who answers for an
// address on the link: by ARP requests or neighbour solicitations of our own where this process may
// send them (RFC 826, RFC 4861), else by what the kernel finds out when a datagram has to go there.
// Nothing is written into the kernel's tables by us. Platform code: neighbour_linux.cc
// (RTM_GETROUTE, rtnetlink(7)), neighbour_macos.cc (route(8)). Thread-safe.
#pragma once

#include <cstdint>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

// With the source address of `ends` when it has one. What the kernel refuses is `error` of the
// lookup; an Error only when it could not be asked.
Expected<RouteLookup> look_up_route(const PairEnds& ends, const AgentCall& call);

struct NeighbourSettings {
  bool duplicate = false;  // look for a second owner of the own address `from` instead
  int64_t timeout_ms = 500;
};
// `ends.interface` is the interface to ask on; found by the route when empty.
NeighbourProbe probe_neighbour(const PairEnds& ends, const NeighbourSettings& settings,
                               const AgentCall& call);

}  // namespace plumbline
