// A latency histogram of constant memory with about three significant digits, from 1 ns to about 9
// hours: log-linear buckets as in HdrHistogram (powers of two, each cut into 512 equal parts above
// 1024 ns, exact below). Histograms of several ranks or launches merge by adding counts. n, min,
// max and sum are exact integers. One that was read is as small as what it holds, until something
// is added to it. Not thread-safe; give every thread its own and merge.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

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
  // Nearest-rank quantile (rank ceil(q n)); 0 when empty. No honesty rule here: see
  // core/stats/stats.h.
  int64_t quantile(double q) const;

  using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;  // (bucket index, count)
  // Non-empty buckets, ascending.
  Buckets sparse() const;
  static Histogram from_sparse(const Buckets& buckets, int64_t min, int64_t max, uint64_t sum);
  // The same of numbers from a file; nullopt when they cannot be of one histogram.
  static std::optional<Histogram> from_foreign(const Buckets& buckets, int64_t min, int64_t max,
                                               uint64_t sum);

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

}  // namespace plumbline
