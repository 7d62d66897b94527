// What a receiver of numbered datagrams counts: arrivals, duplicates, reordering (RFC 4737, section
// 3: a datagram is reordered when a later-sent one came before it) and interarrival jitter (RFC
// 3550, section 6.4.1; the offset between the two clocks cancels out). Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plumbline {

class DatagramTally {
 public:
  // Sequence numbers run from 0 to below `most`; others are ignored.
  explicit DatagramTally(uint64_t most) : seen_(most, false) {}

  // `sent_ns` on the sender's clock, `arrived_ns` on the receiver's.
  void add(uint64_t sequence, int64_t sent_ns, int64_t arrived_ns);

  uint64_t received() const { return received_; }  // each sequence number once
  uint64_t duplicates() const { return duplicates_; }
  uint64_t reordered() const { return reordered_; }
  std::optional<double> jitter_ns() const;  // needs two datagrams

 private:
  std::vector<bool> seen_;
  uint64_t received_ = 0, duplicates_ = 0, reordered_ = 0;
  uint64_t next_expected_ = 0;
  int64_t last_transit_ = 0;
  double jitter_ = 0;
};

}  // namespace plumbline
