#include "core/record/verified.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumbline {
namespace {

constexpr double kLargestCount = 9007199254740992.0;  // 2^53: doubles count up to here

std::optional<uint64_t> count_at(const Measurement& measurement, const char* key) {
  const auto found = measurement.extra.find(key);
  if (found == measurement.extra.end()) return std::nullopt;
  const double value = found->second;
  if (!(value >= 0 && value <= kLargestCount) || value != std::floor(value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

}  // namespace

std::optional<VerifiedCount> verified_count(const Measurement& measurement) {
  const auto verified = count_at(measurement, kVerifiedOperations);
  const auto operations = count_at(measurement, kOperations);
  if (!verified || !operations || *verified > *operations) return std::nullopt;
  return VerifiedCount{*verified, *operations};
}

uint64_t measured_operations(const Measurement& measurement) {
  return std::max(measurement.iterations,
                  count_at(measurement, kMeasuredOperations).value_or(measurement.iterations));
}

std::string verified_text(const Measurement& measurement) {
  if (const auto count = verified_count(measurement)) {
    if (count->verified == 0) return "not verified";
    return fmt::format("verified {} of {} operations", count->verified, count->operations);
  }
  return measurement.wrong ? "verified, count unknown" : "not verified";
}

}  // namespace plumbline
