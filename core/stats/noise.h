// How far a number may be trusted: the verdict that stands beside every row. `invalid` = wrong data
// or no measurement; `noisy` = something beside the network shaped the number; `clean` otherwise.
// Every threshold is a row of one table with its unit and reason. Pure.
#pragma once

#include <cstdint>
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

}  // namespace plumbline
