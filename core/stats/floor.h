// The floor of a small operation: what the bare path between ranks 0 and 1 takes to carry as many
// bytes as the operation's busiest connection must, in the manner in which it must. Who measures an
// operation writes its floor's manner and size into the record; who plans lets the path be measured
// for just these; who reports divides. Plain values.
#pragma once

#include <cstdint>
#include <optional>

#include "core/record/record.h"

namespace plumbline {

enum class FloorManner { kOneWay, kBothWays, kRoundTrip };

struct FloorRow {
  FloorManner manner;
  const char* key;   // of Measurement::extra: bytes
  const char* roof;  // the roof that measures it
  double share;      // of that roof's time
  const char* text;  // "half a round trip"
};
inline constexpr FloorRow kFloors[] = {
    {FloorManner::kOneWay, "floor_one_way_bytes", "raw_pingpong", 0.5, "half a round trip"},
    {FloorManner::kBothWays, "floor_both_ways_bytes", "raw_exchange", 1,
     "a swap both ways at once"},
    {FloorManner::kRoundTrip, "floor_round_trip_bytes", "raw_pingpong", 1, "a round trip"},
};

struct Floor {
  FloorManner manner = FloorManner::kOneWay;
  uint64_t bytes = 0;
};
inline const FloorRow& row(FloorManner manner) { return kFloors[static_cast<size_t>(manner)]; }
// Nothing in records of operations that have no floor, and of versions that wrote none.
std::optional<Floor> floor_in(const Measurement& measurement);

}  // namespace plumbline
