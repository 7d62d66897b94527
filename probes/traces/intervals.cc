#include "probes/traces/intervals.h"

#include <algorithm>
#include <iterator>

namespace plumbline {

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

}  // namespace plumbline
