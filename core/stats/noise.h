// How far a number may be trusted: the verdict that stands beside every row. `invalid` = wrong data
// or no measurement; `noisy` = something beside the network shaped the number; `clean` otherwise.
// Every threshold is a row of one table with its unit and reason. And what a small number is held
// against: the floor of its operation. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/record/record.h"

namespace plumbline {

struct NoiseThreshold {
  const char* cause;   // as it stands in the record
  double value;        // the row is noisy above it (short interval: below it)
  const char* unit;    // of `value`
  const char* reason;  // why this value
};
std::span<const NoiseThreshold> noise_thresholds();

// Verdict on a record whose derived fields are filled in. `clock_call_ns` is what reading the clock
// costs (measure_clock()); 0 = unknown.
Noise judge_noise(const Record& record, int64_t clock_call_ns);

// ---- the floor of a small operation: what the bare path between ranks 0 and 1 takes to carry as
// many bytes as the operation's busiest connection must, in the manner in which it must. Who
// measures an operation writes its floor's manner and size into the record; who plans lets the path
// be measured for just these; who reports divides ----

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
