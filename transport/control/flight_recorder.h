// What one rank is doing and its last operations: the part of every control plane that peers ask
// for. The rank's thread writes, any thread reads. Thread-safe; writing is one short lock and, once
// the texts have been that long before, no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "transport/group.h"

namespace plumbline {

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

  FlightEntry* find(uint32_t sequence);

  mutable std::mutex mutex_;
  std::array<FlightEntry, kEntries> ring_;
  uint64_t begun_ = 0;       // operations ever begun; the newest is ring_[(begun_ - 1) % kEntries]
  uint64_t unfinished_ = 0;  // of them still running
  int waiting_for_ = -1;
  uint32_t step_ = 0;
  int64_t last_progress_ns_ = 0;
};

}  // namespace plumbline
