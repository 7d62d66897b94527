// Local Network privacy of macOS 15 and later: the system refuses a process, not the network.
// Pure functions, thread-safe.
#pragma once

#include <string>

#include "probes/rules/pair_facts.h"

namespace plumbline {

// Does everything say that the connecting process may not use the local network? True when its
// attempts end with EHOSTUNREACH at once and without a packet, while the system's own tools reach
// the same address.
bool refused_by_privacy(const PairView& view);
// What the system's own tool said, for the evidence; empty when none reached the peer.
std::string tool_that_reached(const PairView& view);

}  // namespace plumbline
