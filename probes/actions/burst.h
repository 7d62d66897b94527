// Many connection attempts to one port at the same moment, and what this host's counters say about
// them: where no capture is possible, the difference shows how far the packets came. Bounded in
// number and time; nothing is sent over the connections. Thread-safe.
#pragma once

#include <cstdint>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/counters.h"
#include "probes/actions/ends.h"

namespace plumbline {

constexpr int kMaxBurst = 256;

struct BurstResult {
  int attempts = 0;  // SYNs that the stack produced, as far as the sockets tell
  Counters counters;
};
// kUnsupported when the counters cannot be read.
Expected<BurstResult> connect_burst(const PairEnds& ends, int attempts, int64_t timeout_ms,
                                    const AgentCall& call);

}  // namespace plumbline
