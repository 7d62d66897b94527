// Statistics of latency samples, made to be honest: nonparametric, no normality assumed, no value
// printed that the number of samples cannot carry. A quantile q needs at least ten samples beyond
// it (n (1 - q) >= 10, so 1000 for p99), otherwise it is absent rather than a maximum in disguise.
// The median's confidence interval comes from order statistics (Hoefler & Belli, SC'15; Le Boudec,
// Performance Evaluation, ch. 2). And samples as a histogram, and measured rates in groups. But for
// Histogram pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

// A latency histogram of constant memory with about three significant digits, from 1 ns to about 9
// hours: log-linear buckets as in HdrHistogram (powers of two, each cut into 512 equal parts above
// 1024 ns, exact below). Histograms of several ranks or launches merge by adding counts. n, min,
// max and sum are exact integers. One that was read is as small as what it holds, until something
// is added to it. Not thread-safe; give every thread its own and merge.
class Histogram {
 public:
  // Negative values count as 0, values beyond the range as the last bucket (max() stays exact).
  void add(int64_t ns, uint64_t times = 1);
  void merge(const Histogram& other);

  uint64_t n() const { return n_; }
  int64_t min() const { return n_ ? min_ : 0; }
  int64_t max() const { return max_; }
  // Sum of all values in ns; 64 bits hold 584 years.
  uint64_t sum() const { return sum_; }

  // The value at 1-based rank `k` (1 <= k <= n) of the sorted samples, as its bucket's midpoint,
  // never outside [min, max].
  int64_t value_at_rank(uint64_t k) const;

  using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;  // (bucket index, count)
  // Non-empty buckets, ascending.
  Buckets sparse() const;
  // With these buckets and the `min`, `max` and `sum` of a JSON object; throws nlohmann's
  // exceptions where they cannot be of one histogram.
  static Histogram read(const nlohmann::json& object, const Buckets& buckets);
  static constexpr const char* kImpossible = "no histogram can have these numbers";

  static uint32_t bucket_of(int64_t ns);
  static int64_t bucket_low(uint32_t bucket);  // smallest value of the bucket
  static int64_t bucket_mid(uint32_t bucket);
  static uint32_t bucket_count();

 private:
  void widen();  // from read_ to counts_

  std::vector<uint64_t> counts_;  // grows to the highest bucket used, at most bucket_count()
  Buckets read_;                  // or this, of one that was read: non-empty buckets, ascending
  uint64_t n_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  uint64_t sum_ = 0;
};

// {"n":..,"min":..,"max":..,"sum":..,"buckets":[[index,count],...]}
void to_json(nlohmann::json& json, const Histogram& histogram);
void from_json(const nlohmann::json& json, Histogram& histogram);

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

// ---- measured rates in groups that belong together, fastest first, so that a rate is judged
// against the best that its kind reaches: half of a cluster's links, or all but two, may be slow
// without becoming the measure themselves. A group ends where the next rate is further away than
// the members are from each other ----

// Members that agree are a group however few; the fewer there are, the wider the gap behind them.
inline constexpr size_t kFewInRateGroup = 6;
inline constexpr double kRateGroupGapFew = 1.4, kRateGroupGap = 1.2;  // times slower: another group
// The gap must also be so many robust standard deviations (of the logarithms) of the group.
inline constexpr double kRateGroupDeviations = 1.5;

struct RateGroup {
  std::vector<double> members;  // fastest first; never empty
  double usual = 0;             // their median, of the logarithms
};

// Rates that are not above 0 or not finite are left out.
std::vector<RateGroup> rate_groups(std::vector<double> rates);

// The fastest group of at least `fewest` members: fewer that are faster than all others are no
// measure. nullptr when there is none.
const RateGroup* best_group(const std::vector<RateGroup>& groups, size_t fewest);

// Of no group as fast as this one, and `factor` times slower than usual there.
bool is_below(const RateGroup& group, double rate, double factor);

}  // namespace plumbline
