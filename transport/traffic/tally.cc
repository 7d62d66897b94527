#include "transport/traffic/tally.h"

#include <cmath>

namespace plumbline {

void DatagramTally::add(uint64_t sequence, int64_t sent_ns, int64_t arrived_ns) {
  if (sequence >= seen_.size()) return;
  if (seen_[sequence]) {
    ++duplicates_;
    return;
  }
  seen_[sequence] = true;
  if (sequence >= next_expected_) {
    next_expected_ = sequence + 1;
  } else {
    ++reordered_;
  }
  const int64_t transit = arrived_ns - sent_ns;
  if (received_ > 0) {
    const double difference = std::abs(static_cast<double>(transit - last_transit_));
    jitter_ += (difference - jitter_) / 16;
  }
  last_transit_ = transit;
  ++received_;
}

std::optional<double> DatagramTally::jitter_ns() const {
  if (received_ < 2) return std::nullopt;
  return jitter_;
}

}  // namespace plumbline
