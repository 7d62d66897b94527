// Packets that the queue in front of each interface threw away (tc(8): a full queue, a policer,
// netem), which the counters of the interface itself do not hold. Reads only, needs no privilege.
// Platform code: queue_drops_linux.cc, queue_drops_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "core/diagnosis/host_agent.h"

namespace plumbline {

// By the interface's index, since the queue exists; 32 bits that wrap. Empty where the system does
// not tell.
std::map<int, int64_t> read_queue_drops(const AgentCall& call);

}  // namespace plumbline
