#include "probes/traces/segments.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kKeptCapacity = 512;  // of an empty list: there may be thousands of them

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

}  // namespace plumbline
