// What the search for the largest packet says about one direction. Pure functions, thread-safe.
#pragma once

#include <optional>

#include "probes/rules/pair_facts.h"

namespace plumbline {

struct MtuFault {
  int allowed = 0;          // bytes that both interfaces allow
  int largest = 0;          // bytes that arrived; 0 = unknown
  int lost = 0;             // smallest that vanished; 0 = unknown
  bool vanish = false;      // packets within the allowed size vanish without an ICMP error
  bool stall = false;       // a transfer came to a stop
  bool unfinished = false;  // a transfer did not end in time
  bool works = false;       // TCP came through all the same
};

// The smaller MTU of the two ends' interfaces; 0 = unknown.
int allowed_mtu(const PairView& view);
// A black hole in the direction of this pair; nullopt when there is none, or nothing was seen.
std::optional<MtuFault> mtu_fault(const PairView& view);

}  // namespace plumbline
