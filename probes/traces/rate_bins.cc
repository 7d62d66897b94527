#include "probes/traces/rate_bins.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plumbline {
namespace {

// Buckets: exact below 16 ns, then every power of two is cut into 16 equal parts.
constexpr int kPartBits = 4;
constexpr uint64_t kParts = uint64_t{1} << kPartBits;
constexpr int64_t kLongestRtt = int64_t{1} << 40;  // 18 minutes

size_t bucket_of(int64_t ns) {
  const auto value = static_cast<uint64_t>(std::clamp<int64_t>(ns, 0, kLongestRtt));
  if (value < kParts) return value;
  const auto shift = static_cast<uint64_t>(std::bit_width(value)) - kPartBits - 1;
  return (shift + 1) * kParts + ((value >> shift) - kParts);
}

int64_t middle_of(size_t bucket) {
  if (bucket < kParts) return static_cast<int64_t>(bucket);
  const uint64_t shift = bucket / kParts - 1;
  const uint64_t low = (kParts + bucket % kParts) << shift;
  return static_cast<int64_t>(low + ((uint64_t{1} << shift) / 2));
}

}  // namespace

void RateBins::halve() {
  for (size_t i = 0; i < bins_.size(); i += 2) {
    Bin pair = bins_[i];
    if (i + 1 < bins_.size()) {
      pair.a += bins_[i + 1].a;
      pair.b += bins_[i + 1].b;
    }
    bins_[i / 2] = pair;
  }
  bins_.resize((bins_.size() + 1) / 2);
  width_ns_ *= 2;
}

void RateBins::add(int64_t at_ns, bool from_a, int64_t bytes) {
  at_ns = std::max<int64_t>(at_ns, 0);
  while (at_ns / width_ns_ >= static_cast<int64_t>(kMaxBins)) halve();
  const auto index = static_cast<size_t>(at_ns / width_ns_);
  if (index >= bins_.size()) bins_.resize(index + 1);
  (from_a ? bins_[index].a : bins_[index].b) += bytes;
}

std::vector<TraceRateBin> RateBins::bins(int64_t start_ns) const {
  std::vector<TraceRateBin> result;
  result.reserve(bins_.size());
  for (size_t i = 0; i < bins_.size(); ++i) {
    result.push_back({start_ns + static_cast<int64_t>(i) * width_ns_, bins_[i].a, bins_[i].b});
  }
  return result;
}

void RttDistribution::add(int64_t ns) {
  const size_t bucket = bucket_of(ns);
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  ++counts_[bucket];
  min_ = n_ == 0 ? ns : std::min(min_, ns);
  max_ = n_ == 0 ? ns : std::max(max_, ns);
  ++n_;
}

void RttDistribution::merge(const RttDistribution& other) {
  if (other.n_ == 0) return;
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  min_ = n_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = n_ == 0 ? other.max_ : std::max(max_, other.max_);
  n_ += other.n_;
}

int64_t RttDistribution::quantile(double q) const {
  auto rank = static_cast<int64_t>(std::ceil(q * static_cast<double>(n_)));
  for (size_t i = 0; i < counts_.size(); ++i) {
    rank -= counts_[i];
    if (rank <= 0) return std::clamp(middle_of(i), min_, max_);
  }
  return max_;
}

TraceRtt RttDistribution::summary() const {
  if (n_ == 0) return {};
  return {n_, min_, quantile(0.5), quantile(0.99), max_};
}

}  // namespace plumbline
