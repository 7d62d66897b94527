#include "probes/traces/flow_memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace plumbline {
namespace {

constexpr size_t kKeptCapacity = 512;  // of an empty list: there may be thousands of them

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

void SegmentList::start(int64_t begin) { floor_ = begin; }

size_t SegmentList::find(int64_t at) const {
  // In order, which is the rule, the answer lies at the end.
  if (segments_.size() == head_ || segments_.back().end <= at) return segments_.size();
  const auto from = segments_.begin() + static_cast<std::ptrdiff_t>(head_);
  const auto found = std::partition_point(
      from, segments_.end(), [at](const Segment& segment) { return segment.end <= at; });
  return static_cast<size_t>(found - segments_.begin());
}

bool SegmentList::covers(int64_t begin, int64_t end, int64_t* last_sent) const {
  begin = std::max(begin, floor_);
  for (size_t i = find(begin); begin < end; ++i) {
    if (i >= segments_.size() || segments_[i].begin > begin) return false;
    if (last_sent != nullptr) *last_sent = std::max(*last_sent, segments_[i].sent);
    begin = segments_[i].end;
  }
  return true;
}

int64_t SegmentList::run_end(int64_t at) const {
  at = std::max(at, floor_);
  for (size_t i = find(at); i < segments_.size() && segments_[i].begin <= at; ++i) {
    at = segments_[i].end;
  }
  return at;
}

void SegmentList::insert(size_t at, const Segment& segment) {
  segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(at), segment);
}

void SegmentList::add(int64_t begin, int64_t end, int64_t now, size_t most) {
  begin = std::max(begin, floor_);
  size_t i = find(begin);
  while (begin < end) {
    if (i >= segments_.size() || segments_[i].begin >= end) {
      insert(i, {begin, end, now, false});
      break;
    }
    if (segments_[i].begin > begin) {  // a hole is filled
      insert(i, {begin, segments_[i].begin, now, false});
      ++i;
    }
    segments_[i].twice = true;
    segments_[i].sent = now;
    begin = segments_[i].end;
    ++i;
  }
  if (size() > most) forget_oldest(size() - most / 2);
}

void SegmentList::forget_oldest(size_t count) {
  head_ += count;
  floor_ = segments_[head_ - 1].end;
  segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
}

SegmentList::Acked SegmentList::acknowledge(int64_t upto, int64_t now) {
  Acked acked;
  bool twice = false;
  std::optional<int64_t> newest;
  while (floor_ < upto) {
    if (head_ == segments_.size() || segments_[head_].begin >= upto) {
      acked.unseen = true;
      floor_ = upto;
      break;
    }
    Segment& first = segments_[head_];
    acked.unseen = acked.unseen || first.begin > floor_;
    twice = twice || first.twice;
    if (first.end > upto) {  // a part of it only
      acked.largest = std::max(acked.largest, upto - first.begin);
      first.begin = floor_ = upto;
      break;
    }
    newest = first.sent;
    acked.largest = std::max(acked.largest, first.end - first.begin);
    floor_ = first.end;
    ++head_;
  }
  if (newest && !twice && !acked.unseen && now >= *newest) acked.rtt_ns = now - *newest;
  // The front is given up in large pieces only, so that every segment is moved once on average.
  if (head_ == segments_.size()) {
    if (segments_.capacity() > kKeptCapacity) segments_ = {};
    segments_.clear();
    head_ = 0;
  } else if (head_ > 64 && head_ * 2 > segments_.size()) {
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  return acked;
}

int64_t SegmentList::bytes() const {
  int64_t sum = 0;
  for (size_t i = head_; i < segments_.size(); ++i) sum += segments_[i].end - segments_[i].begin;
  return sum;
}

void RateBins::halve() {
  const size_t half = (bins_.size() + 1) / 2;
  bins_.resize(2 * half);
  for (size_t i = 0; i < half; ++i) {
    const Bin& one = bins_[2 * i];
    const Bin& next = bins_[2 * i + 1];
    bins_[i] = {one.a + next.a, one.b + next.b};
  }
  bins_.resize(half);
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

bool Intervals::covers(int64_t begin, int64_t end) const {
  const auto after = ranges_.upper_bound(begin);
  return after != ranges_.begin() && std::prev(after)->second >= end;
}

std::vector<ByteRange> Intervals::gaps(int64_t begin, int64_t end) const {
  std::vector<ByteRange> out;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) begin = std::max(begin, std::prev(at)->second);
  for (; begin < end && at != ranges_.end() && at->first < end; ++at) {
    if (at->first > begin) out.push_back({begin, at->first});
    begin = at->second;
  }
  if (begin < end) out.push_back({begin, end});
  return out;
}

bool Intervals::add(int64_t begin, int64_t end) {
  if (begin >= end || covers(begin, end)) return false;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second >= begin) {
    at = std::prev(at);
    begin = at->first;
  }
  while (at != ranges_.end() && at->first <= end) {
    end = std::max(end, at->second);
    at = ranges_.erase(at);
  }
  ranges_[begin] = end;
  if (ranges_.size() > kMaxHoles) {
    const auto second = std::next(ranges_.begin());
    ranges_.begin()->second = second->second;
    ranges_.erase(second);
  }
  return true;
}

void ByteLayers::add(int64_t begin, int64_t end, const Part& part) {
  std::vector<ByteRange> parts = {{begin, end}}, deeper;
  for (size_t layer = 0; layer < kLayers && !parts.empty(); ++layer) {
    deeper.clear();
    for (const ByteRange& range : parts) {
      int64_t at = range.begin;
      for (const ByteRange& gap : layers_[layer].gaps(range.begin, range.end)) {
        if (gap.begin > at) deeper.push_back({at, gap.begin});
        if (part) part(layer, gap.begin, gap.end);
        at = gap.end;
      }
      if (at < range.end) deeper.push_back({at, range.end});
      layers_[layer].add(range.begin, range.end);
    }
    parts.swap(deeper);
  }
}

int64_t ByteLayers::lacking(size_t layer, int64_t begin, int64_t end) const {
  int64_t bytes = 0;
  for (const ByteRange& gap : layers_[layer].gaps(begin, end)) bytes += gap.end - gap.begin;
  return bytes;
}

}  // namespace plumbline
