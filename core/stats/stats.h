// Statistics of latency samples, made to be honest: nonparametric, no normality assumed, no value
// printed that the number of samples cannot carry. A quantile q needs at least ten samples beyond
// it (n (1 - q) >= 10, so 1000 for p99), otherwise it is absent rather than a maximum in disguise.
// The median's confidence interval comes from order statistics (Hoefler & Belli, SC'15; Le Boudec,
// Performance Evaluation, ch. 2). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/stats/histogram.h"

namespace plumbline {

// All times in ns. Absent = the samples cannot support it.
struct TimeSummary {
  uint64_t n = 0;
  std::optional<double> min, p50, p90, p95, p99, p999, max;
  std::optional<std::pair<double, double>> p50_ci95;  // [lo, hi]; needs n >= 6
  std::optional<double> mad;                          // median absolute deviation from the median
  std::optional<double> cv;                           // standard deviation / mean
  std::string stop_reason;                            // "ci" | "time" | "count" | ""
};

// From raw samples (any order; copied and sorted inside).
TimeSummary summarize(std::span<const int64_t> samples_ns);
// From a histogram, within its resolution; used when a run kept more samples than the record holds.
TimeSummary summarize(const Histogram& histogram);

// True when n samples support quantile q (see above).
bool quantile_supported(uint64_t n, double q);
// Nearest-rank quantile of sorted samples: element ceil(q n), 1-based. Requires non-empty.
int64_t quantile_sorted(std::span<const int64_t> sorted, double q);
// 1-based ranks floor((n - z sqrt n) / 2) and ceil(1 + (n + z sqrt n) / 2), z = 1.96, clamped to
// [1, n]; absent below n = 6, where no 95 % interval exists.
std::optional<std::pair<uint64_t, uint64_t>> median_ci_ranks(uint64_t n);
// Lag-1 autocorrelation of samples in time order; 0 below n = 3.
double autocorrelation_lag1(std::span<const int64_t> samples_ns);
// p50 of these values (medians of launches, say) and its 95 % interval, from 6 values on; the rest
// of the summary stays as it is.
void set_median(std::vector<double> values, TimeSummary& time);
double median(std::vector<double> values);  // 0 when empty; mean of the middle two when even

// When to stop sampling: the CI's width relative to the median, at least `min_n` samples, caps by
// time and count. Checked by the measuring loop at geometrically growing n, which bounds the
// peeking bias.
struct StopRule {
  double ci = 0.05;  // stop when (hi - lo) / median <= ci; 0 = never by CI
  uint64_t min_n = 30;
  uint64_t max_n = 100'000;
  int64_t max_time_ns = 2'000'000'000;
};
// "ci", "time", "count", or empty to go on. When lag-1 autocorrelation exceeds 0.1 the CI is
// taken over means of blocks of ten samples.
std::string stop_reason(const StopRule& rule, std::span<const int64_t> samples_ns,
                        int64_t elapsed_ns);

}  // namespace plumbline
