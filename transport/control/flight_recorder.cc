#include "transport/control/flight_recorder.h"

#include <algorithm>

#include "core/clock.h"

namespace plumbline {

void FlightRecorder::begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) {
  const int64_t now = monotonic_ns();
  const std::lock_guard lock(mutex_);
  FlightEntry& entry = ring_[begun_ % kEntries];
  if (begun_ >= kEntries && !entry.finished) --unfinished_;  // forgotten, whatever became of it
  entry.sequence = sequence;
  entry.op_hash = op_hash;
  entry.operation = text;
  entry.finished = false;
  ++begun_;
  ++unfinished_;
  waiting_for_ = -1;
  last_progress_ns_ = now;
}

FlightEntry* FlightRecorder::find(uint32_t sequence) {
  const uint64_t kept = std::min<uint64_t>(begun_, kEntries);
  for (uint64_t i = 1; i <= kept; ++i) {
    FlightEntry& entry = ring_[(begun_ - i) % kEntries];
    if (entry.sequence == sequence) return &entry;
  }
  return nullptr;
}

void FlightRecorder::end_operation(uint32_t sequence) {
  const int64_t now = monotonic_ns();
  const std::lock_guard lock(mutex_);
  FlightEntry* entry = find(sequence);
  if (entry == nullptr || entry->finished) return;
  entry->finished = true;
  --unfinished_;
  waiting_for_ = -1;
  last_progress_ns_ = now;
}

void FlightRecorder::waiting(int peer, uint32_t step, int64_t last_progress_ns) {
  const std::lock_guard lock(mutex_);
  waiting_for_ = peer;
  step_ = step;
  last_progress_ns_ = last_progress_ns;
}

RankStatus FlightRecorder::status(int rank) const {
  const int64_t now = monotonic_ns();
  const std::lock_guard lock(mutex_);
  RankStatus status;
  status.rank = rank;
  if (begun_ == 0) return status;
  const FlightEntry& newest = ring_[(begun_ - 1) % kEntries];
  status.sequence = newest.sequence;
  status.op_hash = newest.op_hash;
  status.operation = newest.operation;
  status.in_operation = unfinished_ > 0;
  status.waiting_for = waiting_for_;
  status.step = step_;
  status.since_progress_ns = std::max<int64_t>(0, now - last_progress_ns_);
  return status;
}

std::vector<FlightEntry> FlightRecorder::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<FlightEntry> entries;
  for (uint64_t i = begun_ - std::min<uint64_t>(begun_, kEntries); i < begun_; ++i) {
    entries.push_back(ring_[i % kEntries]);
  }
  return entries;
}

}  // namespace plumbline
