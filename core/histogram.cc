#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace plumbline {
namespace {

// Values below 2^kLinearBits ns have a bucket each; above, every power of two is cut into
// 2^(kLinearBits - 1) parts.
constexpr int kLinearBits = 10;
constexpr int kMaxBits = 45;  // 2^45 ns = 9.8 hours
constexpr uint32_t kLinear = 1u << kLinearBits;
constexpr uint32_t kParts = kLinear / 2;
constexpr uint32_t kBuckets = kLinear + (kMaxBits - kLinearBits) * kParts;

}  // namespace

uint32_t Histogram::bucket_count() { return kBuckets; }

uint32_t Histogram::bucket_of(int64_t ns) {
  const uint64_t value = ns < 0 ? 0 : static_cast<uint64_t>(ns);
  if (value < kLinear) return static_cast<uint32_t>(value);
  const int top = std::bit_width(value) - 1;  // >= kLinearBits
  const int shift = top - (kLinearBits - 1);
  const auto part = static_cast<uint32_t>(value >> shift) - kParts;
  const uint32_t bucket = kLinear + static_cast<uint32_t>(top - kLinearBits) * kParts + part;
  return std::min(bucket, kBuckets - 1);
}

int64_t Histogram::bucket_low(uint32_t bucket) {
  if (bucket < kLinear) return bucket;
  const uint32_t above = bucket - kLinear;
  const int shift = static_cast<int>(above / kParts) + 1;
  return static_cast<int64_t>(uint64_t{kParts + above % kParts} << shift);
}

int64_t Histogram::bucket_mid(uint32_t bucket) {
  if (bucket < kLinear) return bucket;
  const int shift = static_cast<int>((bucket - kLinear) / kParts) + 1;
  return bucket_low(bucket) + (int64_t{1} << (shift - 1));
}

void Histogram::add(int64_t ns, uint64_t times) {
  if (times == 0) return;
  ns = std::max<int64_t>(ns, 0);
  const uint32_t bucket = bucket_of(ns);
  if (counts_.size() <= bucket) counts_.resize(bucket + 1);
  counts_[bucket] += times;
  min_ = n_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  sum_ += static_cast<uint64_t>(ns) * times;
  n_ += times;
}

void Histogram::merge(const Histogram& other) {
  if (other.n_ == 0) return;
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = n_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  n_ += other.n_;
}

int64_t Histogram::value_at_rank(uint64_t k) const {
  if (n_ == 0) return 0;
  k = std::clamp<uint64_t>(k, 1, n_);
  uint64_t seen = 0;
  for (uint32_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= k) return std::clamp(bucket_mid(bucket), min_, max_);
  }
  return max_;
}

int64_t Histogram::quantile(double q) const {
  if (n_ == 0) return 0;
  return value_at_rank(static_cast<uint64_t>(std::ceil(q * static_cast<double>(n_))));
}

std::vector<std::pair<uint32_t, uint64_t>> Histogram::sparse() const {
  std::vector<std::pair<uint32_t, uint64_t>> buckets;
  for (uint32_t bucket = 0; bucket < counts_.size(); ++bucket) {
    if (counts_[bucket] != 0) buckets.emplace_back(bucket, counts_[bucket]);
  }
  return buckets;
}

Histogram Histogram::from_sparse(const std::vector<std::pair<uint32_t, uint64_t>>& buckets,
                                 int64_t min, int64_t max, uint64_t sum) {
  Histogram histogram;
  for (const auto& [bucket, count] : buckets) {
    if (bucket >= kBuckets) continue;
    if (histogram.counts_.size() <= bucket) histogram.counts_.resize(bucket + 1);
    histogram.counts_[bucket] += count;
    histogram.n_ += count;
  }
  histogram.min_ = min;
  histogram.max_ = max;
  histogram.sum_ = sum;
  return histogram;
}

void to_json(nlohmann::json& json, const Histogram& histogram) {
  json = {{"n", histogram.n()},
          {"min", histogram.min()},
          {"max", histogram.max()},
          {"sum", histogram.sum()},
          {"buckets", histogram.sparse()}};
}

void from_json(const nlohmann::json& json, Histogram& histogram) {
  histogram = Histogram::from_sparse(
      json.at("buckets").get<std::vector<std::pair<uint32_t, uint64_t>>>(),
      json.at("min").get<int64_t>(), json.at("max").get<int64_t>(), json.at("sum").get<uint64_t>());
}

}  // namespace plumbline
