// All arrays to rank 0, which reduces them in rank order and sends the result to everybody: two
// messages deep for any number of ranks, but rank 0 moves all bytes.
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_allreduce_gather_reduce(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  if (q.rank != 0) {
    b.send(0, 0, mine);
    b.recv(0, 0, result);
    return b.finish();
  }
  std::vector<StepId> got;
  std::vector<Range> parts;
  for (int peer = 1; peer < q.size; ++peer) {
    parts.push_back(b.scratch(q.count));
    got.push_back(b.recv(peer, 0, parts.back()));
  }
  StepId reduced = kNoStep;
  for (size_t i = 0; i < parts.size(); ++i) {
    reduced = b.reduce(i == 0 ? mine : result, parts[i], result, i + 1 == parts.size(),
                       {got[i], reduced});
  }
  for (int peer = 1; peer < q.size; ++peer) b.send(peer, 0, result, {reduced});
  return b.finish();
}

}  // namespace plumbline
