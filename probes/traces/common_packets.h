// Packets that are in both of two captures, recognised by what their sender chose and no router or
// network card changes: addresses, ports, sequence numbers, IP identification, TCP time stamp. They
// tie the two clocks together, tell how long packets were under way, and at whose end a capture was
// taken. Bounded memory: of very long captures a sample is kept, the same packets of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/traces/flow.h"

namespace plumbline {

// One packet in one capture.
struct Sighting {
  uint64_t key = 0;
  int64_t at_ns = 0;
  int64_t seq = 0;  // of TCP, unwrapped as in its capture
  int64_t flow = 0;
  uint8_t side = 0, ttl = 0;
  bool weak = false;    // another packet may look the same after a while
  bool bytes = false;   // of TCP, and carries some
  bool marked = false;  // has an identification or a time stamp: sent again, it differs
  uint64_t hosts = 0;   // hash of its two addresses, the same for both directions
};

class PacketIndex {
 public:
  void add(const FlowState& flow, int side, const Packet& packet, const SegmentEvent& event);
  // In the order of keys, then times.
  std::vector<Sighting> sorted() const;
  uint64_t mask() const { return mask_; }

 private:
  std::vector<Sighting> sightings_;
  uint64_t mask_ = 0;  // only packets whose key has none of these bits are kept
};

// Times of hostile files may be anything: a sum that does not fit is the largest that does.
inline int64_t later_by(int64_t at_ns, int64_t by_ns) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(at_ns, by_ns, &sum)) return sum;
  return by_ns > 0 ? INT64_MAX : INT64_MIN;
}

struct CommonPacket {
  Sighting first, second;
  int64_t delta() const { return second.at_ns - first.at_ns; }
};

// In the order of the first capture's times. Where the same packet may have been sent several times
// and so could be tied in several ways, those whose clocks agree with most others. None, when so
// few agree that it must be chance: of hosts that are in both, much more had to be common.
std::vector<CommonPacket> common_packets(const PacketIndex& first, const PacketIndex& second);

}  // namespace plumbline
