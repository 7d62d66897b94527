// ceil(log2 n) rounds for any n: each rank collects parts in the order own, next, next but one, ...
// and in round k sends all it has (at most what is missing) 2^k ranks down; at the end the parts
// are rotated into place (Bruck, Ho, Kipnis, Upfal and Weathersby, 1997).
#include <algorithm>

#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_allgather_bruck(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  const Range collected = b.scratch(q.count * static_cast<uint64_t>(q.size));
  const auto parts = [&](BufferId buffer, int first, int number) {
    return Range{buffer, q.count * static_cast<uint64_t>(first),
                 q.count * static_cast<uint64_t>(number)};
  };
  std::vector<StepId> have;
  if (q.size > 2) have.push_back(b.copy(own, parts(collected.buffer, 0, 1)));
  uint32_t round = 0;
  for (int width = 1; width < q.size; width *= 2, ++round) {
    const int number = std::min(width, q.size - width);
    const int down = wrap(q.rank - width, q.size), up = wrap(q.rank + width, q.size);
    if (width == 1) {
      b.send(down, round, own);
    } else {
      b.send(down, round, parts(collected.buffer, 0, number), have);
    }
    have.push_back(b.recv(up, round, parts(collected.buffer, width, number)));
  }
  const int tail = q.size - q.rank;  // parts rank .. n-1 come first, then 0 .. rank-1
  b.copy_own(own, parts(BufferId::kOut, q.rank, 1));
  b.copy(parts(collected.buffer, 1, tail - 1), parts(BufferId::kOut, q.rank + 1, tail - 1), have);
  b.copy(parts(collected.buffer, tail, q.rank), parts(BufferId::kOut, 0, q.rank), have);
  return b.finish();
}

}  // namespace plumbline
