// Two files that cannot be compared, and the sentence that says why. Pure.
#pragma once

#include <string>
#include <vector>

#include "probes/traces/analysis.h"
#include "probes/traces/common_packets.h"

namespace plumbline {

// Empty when they can be. `any_flow`: a flow runs between the two hosts that captured.
std::string why_not_compared(const Analysis& first, const Analysis& second,
                             const std::vector<CommonPacket>& common, bool any_flow);

}  // namespace plumbline
