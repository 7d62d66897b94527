// Gather, scatter and alltoall in one message per part, straight from its owner to where it
// belongs.
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_gather_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  if (q.rank != q.root) {
    b.send(q.root, 0, own);
    return b.finish();
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int from = wrap(q.rank + hop, q.size);
    b.recv(from, 0, block(BufferId::kOut, q.count, from));
  }
  b.copy_own(own, block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

Schedule build_scatter_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::out(0, q.count);
  if (q.rank != q.root) {
    b.recv(q.root, 0, own);
    return b.finish();
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    b.send(to, 0, block(BufferId::kIn, q.count, to));
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), own);
  return b.finish();
}

// In hop k every rank sends to the rank k further and receives from the one k before, so that no
// rank is everybody's target at once.
Schedule build_alltoall_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  std::vector<StepId> sent(static_cast<size_t>(q.size), kNoStep);
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    sent[static_cast<size_t>(to)] = b.send(to, 0, block(BufferId::kIn, q.count, to));
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int from = wrap(q.rank - hop, q.size);
    const Range dst = block(BufferId::kOut, q.count, from);
    if (!q.in_place) {
      b.recv(from, 0, dst);
      continue;
    }
    // In place the part for `from` lies where the part of `from` goes.
    const Range parked = b.scratch(q.count);
    const StepId got = b.recv(from, 0, parked);
    b.copy(parked, dst, {got, sent[static_cast<size_t>(from)]});
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

}  // namespace plumbline
