// Who is really at fault when a rank waits in vain: a pure walk along "waits for" through the
// control plane. Used by Group::blame and after a fingerprint mismatch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/group.h"

namespace plumbline {

struct BlameQuestion {
  int self = 0;
  int peer = -1;          // the rank whose bytes are missing (or who does not take ours)
  uint32_t sequence = 0;  // of the operation that is stuck
  uint32_t step = 0;      // of the message that is missing
  std::string operation;  // text of that operation
  std::optional<int64_t> since_progress_ns;  // age of the last byte moved to or from the peer
  std::optional<StreamStats> stream;         // of the connection to the peer
  std::string obstacle;                      // Channel::obstacle()
};

// Takes at most 1 s. kTimeout with cause collective.stalled, kPeerLost with rank.dead, or kMismatch
// with collective.mismatch.
Error find_blame(ControlPlane& control, const BlameQuestion& question);

// "op 91: rank 1 called broadcast ... while rank 0 called allreduce ...": the fingerprints of a
// mismatch put into words; nothing when the peer's recorder does not show the operation.
std::optional<Error> mismatch_in_words(ControlPlane& control, int self, int peer,
                                       uint32_t sequence);

}  // namespace plumbline
