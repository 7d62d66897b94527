#include <algorithm>
#include <bit>

#include "core/json.h"
#include "core/stats/stats.h"

namespace plumbline {
namespace {

// Values below 2^kLinearBits ns have a bucket each; above, every power of two is cut into
// 2^(kLinearBits - 1) parts.
constexpr int kLinearBits = 10;
constexpr int kMaxBits = 45;  // 2^45 ns = 9.8 hours
constexpr uint32_t kLinear = 1u << kLinearBits;
constexpr uint32_t kParts = kLinear / 2;
constexpr uint32_t kBuckets = kLinear + (kMaxBits - kLinearBits) * kParts;
constexpr uint64_t kMostSamples = uint64_t{1} << 53;  // a double counts them exactly

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

void Histogram::widen() {
  if (read_.empty()) return;
  if (counts_.size() <= read_.back().first) counts_.resize(read_.back().first + 1);
  for (const auto& [bucket, count] : read_) counts_[bucket] += count;
  read_ = {};
}

void Histogram::add(int64_t ns, uint64_t times) {
  if (times == 0) return;
  widen();
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
  widen();
  const size_t needed =
      other.read_.empty() ? other.counts_.size() : size_t{other.read_.back().first} + 1;
  if (counts_.size() < needed) counts_.resize(needed);
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  for (const auto& [bucket, count] : other.read_) counts_[bucket] += count;
  min_ = n_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  n_ += other.n_;
}

int64_t Histogram::value_at_rank(uint64_t k) const {
  if (n_ == 0) return 0;
  k = std::clamp<uint64_t>(k, 1, n_);
  uint64_t seen = 0;
  for (const auto& [bucket, count] : read_) {
    seen += count;
    if (seen >= k) return std::clamp(bucket_mid(bucket), min_, max_);
  }
  for (uint32_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= k) return std::clamp(bucket_mid(bucket), min_, max_);
  }
  return max_;
}

Histogram::Buckets Histogram::sparse() const {
  if (!read_.empty()) return read_;
  Buckets buckets;
  for (uint32_t bucket = 0; bucket < counts_.size(); ++bucket) {
    if (counts_[bucket] != 0) buckets.emplace_back(bucket, counts_[bucket]);
  }
  return buckets;
}

Histogram Histogram::read(const nlohmann::json& object, const Buckets& buckets) {
  Histogram histogram;
  get_field(object, "min", histogram.min_);
  get_field(object, "max", histogram.max_);
  get_field(object, "sum", histogram.sum_);
  uint64_t n = 0;
  bool possible = histogram.min_ >= 0 && histogram.min_ <= histogram.max_;
  for (const auto& [bucket, count] : buckets) {
    possible = possible && count <= kMostSamples && n <= kMostSamples;
    n += possible ? count : 0;
  }
  if (!possible || n > kMostSamples) {
    throw nlohmann::json::other_error::create(501, kImpossible, nullptr);
  }
  const bool ascending = std::is_sorted(
      buckets.begin(), buckets.end(),
      [](const auto& a, const auto& b) { return a.first <= b.first; });  // no bucket twice
  for (const auto& [bucket, count] : buckets) {
    if (bucket >= kBuckets || count == 0) continue;
    histogram.n_ += count;
    if (ascending) {
      histogram.read_.emplace_back(bucket, count);
      continue;
    }
    if (histogram.counts_.size() <= bucket) histogram.counts_.resize(bucket + 1);
    histogram.counts_[bucket] += count;
  }
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
  Histogram::Buckets buckets;
  get_field(json, "buckets", buckets);
  histogram = Histogram::read(json, buckets);
}

}  // namespace plumbline
