// Packets that are in both of two captures, recognised by what their sender chose and no router or
// network card changes: addresses, ports, sequence numbers, IP identification, TCP time stamp. They
// tie the two clocks together, tell how long packets were under way, at whose end a capture was
// taken, and which time both cover. Bounded memory: of very long captures a sample is kept, the
// same packets of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "probes/traces/analysis.h"
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

// The least and the most of some times; of none, least > most.
struct Extent {
  int64_t least = INT64_MAX, most = INT64_MIN;
  void add(int64_t ns) {
    least = least < ns ? least : ns;
    most = most > ns ? most : ns;
  }
};
Extent deltas_of(const std::vector<CommonPacket>& common);

// In the order of the first capture's times. Where the same packet may have been sent several times
// and so could be tied in several ways, those whose clocks agree with most others. None, when so
// few agree that it must be chance: of hosts that are in both, much more had to be common.
std::vector<CommonPacket> common_packets(const PacketIndex& first, const PacketIndex& second);

// A capture, from its first packet to its last, by its own clock, ns.
struct TimeRange {
  int64_t begin = 0, end = 0;
  bool holds(int64_t at) const { return begin <= at && at <= end; }
};

// Packets of one direction that are in both captures: from the sender's clock to the receiver's,
// that is, the way and the difference of the clocks.
struct OneWay {
  bool seen = false;
  int64_t least = 0, most = 0;
  TimeRange sent;  // first and last of them, by the sender's clock
  void add(int64_t sent_ns, int64_t delta);
};

// What of one direction can be compared.
struct Covered {
  TimeRange sent;     // by the sender's clock: whatever left then and arrived is in both captures
  TimeRange arrives;  // by the receiver's: when that may arrive, rather too long than too short
};

// The time that two captures both cover, from the packets that are in both: by whose clock
// whatever, for each direction which packets must be in the receiver's capture when they arrived.
struct CommonTime {
  TimeRange first, second;  // the captures
  OneWay to_second, to_first;

  Covered towards_second() const;
  Covered towards_first() const;
  // The second clock minus the first.
  int64_t offset_ns() const;
  // nullopt where packets go one way only.
  std::optional<int64_t> error_ns() const;
  // By the first clock; empty (end < begin) when they do not overlap.
  TimeRange overlap() const;
};

// `side` tells of a flow whether its a is at the first capture (> 0), at the second (< 0) or
// neither is known (0).
CommonTime common_time(const Analysis& first, const Analysis& second,
                       const std::vector<CommonPacket>& common,
                       const std::function<int(const FlowState&)>& side);

}  // namespace plumbline
