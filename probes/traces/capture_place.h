// On which host a capture was taken: decided once for a whole file, from all its flows, because one
// flow alone looks alike from both of its ends. Pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "probes/traces/analysis.h"

namespace plumbline {

struct CapturePlace {
  // Addresses of the host. When not `decided`, at least one of them is: a file that only has flows
  // of two hosts does not tell by its addresses which of them captured it.
  std::set<IpAddress> addresses;
  bool decided = false;
  const char* told_by = "guess";  // "addresses", "direction", "flows", see TracePairFlow
};

struct CapturePlaces {
  CapturePlace first, second;

  // > 0: the flow's a is at the first place and b at the second, < 0: the reverse, 0: the places
  // are not known well enough, or the flow does not run between them.
  int side_of_first(const FlowState& flow) const;
  bool between(const FlowState& flow) const;
};

// `first_ips`: addresses of the host that has the first trace, when they are known; they override
// what the file says. kUsage when one of them is an address of neither trace.
Expected<CapturePlaces> find_places(const Analysis& first, const Analysis& second,
                                    const std::vector<std::string>& first_ips);

}  // namespace plumbline
