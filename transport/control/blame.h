// What one rank is doing and its last operations: the part of every control plane that peers ask
// for. And who is really at fault when a rank waits in vain: a pure walk along "waits for" through
// the control plane, used by Group::blame and after a fingerprint mismatch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/group.h"

namespace plumbline {

// The rank's thread writes, any thread reads. Writing takes no lock and copies no text as long as
// operations repeat themselves; a reader tries again when it was written to meanwhile.
class FlightRecorder {
 public:
  void begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text);
  void end_operation(uint32_t sequence);
  // peer -1 = no longer waiting.
  void waiting(int peer, uint32_t step, int64_t last_progress_ns);

  // As of now; age_ns is 0.
  RankStatus status(int rank) const;
  // The last operations, newest last.
  std::vector<FlightEntry> entries() const;

 private:
  static constexpr size_t kEntries = 32;

  struct Slot {
    std::atomic<uint32_t> sequence{0};
    std::atomic<bool> finished{false};
    uint32_t op_hash = 0;  // these two: the rank's thread changes them with the mutex held
    std::string operation;
  };
  // Numbers that change together, as they are between two writes.
  struct Numbers {
    uint64_t begun = 0;       // operations ever begun; the newest is slots_[(begun - 1) % kEntries]
    uint64_t unfinished = 0;  // of them still running
    int waiting_for = -1;
    uint32_t step = 0;
    int64_t last_progress_ns = 0;
    std::array<uint32_t, kEntries> sequences{};
    std::array<bool, kEntries> finished{};
  };
  class Write;  // odd version while it lives

  Numbers read() const;

  mutable std::mutex mutex_;  // of the slots' texts
  std::atomic<uint64_t> version_{0};
  std::array<Slot, kEntries> slots_;
  std::atomic<uint64_t> begun_{0}, unfinished_{0};
  std::atomic<int> waiting_for_{-1};
  std::atomic<uint32_t> step_{0};
  std::atomic<int64_t> last_progress_ns_{0};
};

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

// A fault that rank `origin` has found, as the other ranks see it.
Error ended_by(int origin, Error error);

// "op 91: rank 1 called broadcast ... while rank 0 called allreduce ...": the fingerprints of a
// mismatch put into words; nothing when the peer's recorder does not show the operation.
std::optional<Error> mismatch_in_words(ControlPlane& control, int self, int peer,
                                       uint32_t sequence);

}  // namespace plumbline
