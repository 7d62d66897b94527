// Every rank sends every other rank its part at once; the owner reduces the arriving parts in rank
// order, segment by segment while they are in cache. One message deep and the same result for every
// arrival order, at the price of scratch for n-1 parts.
#include <algorithm>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// One segment of this rank's own part: a receive from everybody, then the sums in rank order.
void reduce_segment(ScheduleBuilder& b, const ScheduleRequest& q, uint32_t message, uint64_t begin,
                    uint64_t count) {
  std::vector<Range> parts;
  std::vector<StepId> got;
  for (int from = 0; from < q.size; ++from) {
    const bool own = from == q.rank;
    parts.push_back(own ? ScheduleBuilder::in(q.count * static_cast<uint64_t>(from) + begin, count)
                        : b.scratch(count));
    got.push_back(own ? kNoStep : b.recv(from, message, parts.back()));
  }
  const Range result = ScheduleBuilder::out(begin, count);
  // In place the result lies where the own part is, so it is written last.
  const Range sum = q.rank == 0 ? result : parts[0];
  StepId reduced = kNoStep;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const Range first = i == 1 ? parts[0] : sum;
    reduced = b.reduce(first, parts[i], last ? result : sum, last,
                       {got[i], i == 1 ? got[0] : kNoStep, reduced});
  }
}

}  // namespace

Schedule build_reduce_scatter_direct(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const uint64_t segment = std::max<uint64_t>(1, q.segment_bytes / q.elem_size);
  uint32_t message = 0;
  for (uint64_t begin = 0; begin < q.count; begin += segment, ++message) {
    const uint64_t count = std::min(segment, q.count - begin);
    for (int hop = 1; hop < q.size; ++hop) {
      const int to = wrap(q.rank + hop, q.size);
      b.send(to, message, ScheduleBuilder::in(q.count * static_cast<uint64_t>(to) + begin, count));
    }
    reduce_segment(b, q, message, begin, count);
  }
  return b.finish();
}

}  // namespace plumbline
