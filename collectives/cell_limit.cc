#include "collectives/cell_limit.h"

#include <algorithm>

#include "collectives/cell_run.h"
#include "core/clock.h"

namespace plumbline {
namespace {

constexpr int64_t kBesideMs = 60'000;  // preparing, filling, verifying
constexpr int64_t kTimesMeant = 20;    // phases that last a time are given so many times that
constexpr int64_t kMostMs = int64_t{366} * 24 * 3600 * 1000;

// Operations that the settings ask for by number, late ones made up for.
double counted_operations(const MeasureSettings& settings) {
  const double samples = std::max(0, settings.fixed_warmup) +
                         static_cast<double>(kMostTries) * std::max(0, settings.fixed_iterations);
  return samples * std::max(1, settings.aggregate) + std::max(0, settings.cold_operations) +
         std::max(0, settings.verify_iterations);
}

}  // namespace

int64_t cell_limit_ms(const Cell& cell, const MeasureSettings& settings) {
  int64_t limit =
      kBesideMs + 2 * settings.operation_timeout_ms +
      kTimesMeant * (settings.stop.max_time_ns + settings.throughput_time_ns) / kMillisecond;
  if (settings.tail) limit += kTimesMeant * kTailTimeNs / kMillisecond;
  if (const auto longer = cell_run_of(cell.kind).longer_ms) limit += longer(cell, settings);
  // Each may take until its watchdog bites.
  const double counted =
      counted_operations(settings) * static_cast<double>(settings.operation_timeout_ms);
  return std::min(kMostMs, limit + static_cast<int64_t>(std::min<double>(counted, kMostMs)));
}

}  // namespace plumbline
