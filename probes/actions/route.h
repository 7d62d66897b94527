// What the kernel would do with a packet to an address: asked, not tried. Platform code:
// route_linux.cc (RTM_GETROUTE, rtnetlink(7)), route_macos.cc (route(8)). Thread-safe.
#pragma once

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

// With the source address of `ends` when it has one. What the kernel refuses is `error` of the
// lookup; an Error only when it could not be asked.
Expected<RouteLookup> look_up_route(const PairEnds& ends, const AgentCall& call);

}  // namespace plumbline
