// How many of a cell's operations were verified, of how many that ran: counters of
// Measurement::extra, and what people read of them. Records of versions before these counters, and
// imported ones, have none: their count is unknown. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/record/record.h"

namespace plumbline {

// Keys of Measurement::extra. Every operation of the cell counts: the first one, those of the
// warm-up, and those after a stop, which are not timed.
inline constexpr const char* kOperations = "operations_count";
inline constexpr const char* kVerifiedOperations = "verified_operations_count";
// What the random choice of the verified operations began with; only where there was a choice.
inline constexpr const char* kVerifySeed = "verify_seed";

// Operations of the timed part, whether they were timed or not: what the ranks' processor time and
// context switches were spent on.
inline constexpr const char* kMeasuredOperations = "measured_operations_count";

// The cause of cells whose data were wrong, by our own comparison or by the transport's checksum.
inline constexpr const char* kWrongDataCause = "collective.wrong_data";

struct VerifiedCount {
  uint64_t verified = 0, operations = 0;
};
// Nothing where the record has no such counters, or none that can be true.
std::optional<VerifiedCount> verified_count(const Measurement& measurement);
// What a counter of the timed part is divided by for one operation; the number of samples where a
// record has no better.
uint64_t measured_operations(const Measurement& measurement);
// "verified 41 of 320 operations", "verified, count unknown", "not verified".
std::string verified_text(const Measurement& measurement);

}  // namespace plumbline
