// Chains: the ranks in a row from the root, every byte forwarded as soon as it has arrived, so that
// a large array takes little more than one transfer time for any number of ranks.
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_broadcast_chain(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const int number = wrap(q.rank - q.root, q.size);
  const Range out = ScheduleBuilder::out(0, q.count);
  const Range data = number == 0 ? ScheduleBuilder::in(0, q.count) : out;
  const StepId got = number == 0 ? kNoStep : b.recv(wrap(q.rank - 1, q.size), 0, out);
  if (number + 1 < q.size) b.stream(wrap(q.rank + 1, q.size), 0, data, got);
  if (number == 0) b.copy_own(data, out);
  return b.finish();
}

// From the far end towards the root, one contribution added per hop.
Schedule build_reduce_chain(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const int number = wrap(q.rank - q.root, q.size);
  const bool is_root = number == 0;
  Range sum = ScheduleBuilder::in(0, q.count);
  StepId reduced = kNoStep;
  if (number + 1 < q.size) {
    const Range result = is_root ? ScheduleBuilder::out(0, q.count) : b.scratch(q.count);
    reduced = b.recv_reduce(wrap(q.rank + 1, q.size), 0, sum, result, is_root);
    sum = result;
  }
  if (!is_root) b.stream(wrap(q.rank - 1, q.size), 0, sum, reduced);
  return b.finish();
}

}  // namespace plumbline
