// The time that two captures both cover, from the packets that are in both: by whose clock
// whatever, for each direction which packets must be in the receiver's capture when they arrived.
// Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "probes/traces/analysis.h"
#include "probes/traces/common_packets.h"

namespace plumbline {

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
