// Ring algorithms: parts travel around the ring of ranks, and every rank forwards what it receives
// while it is still arriving. Reduce-scatter lets each part collect one contribution per hop until
// it reaches its owner; allgather lets each finished part visit everybody; allreduce is one after
// the other, overlapped. Each rank sends 2 (n-1)/n of the array, the least possible (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// n-1 hops; part p starts at rank p+1 and ends, reduced, at rank p. partial(hop, part) says where
// the sum goes that this rank has made of `part` in hop `hop`. Returns the step that completes the
// rank's own part.
template <typename Part, typename Partial>
StepId reduce_scatter_hops(ScheduleBuilder& b, const ScheduleRequest& q, Part&& part,
                           Partial&& partial) {
  const int right = wrap(q.rank + 1, q.size), left = wrap(q.rank - 1, q.size);
  b.send(right, 0, part(left));
  StepId got = kNoStep;
  for (int hop = 0; hop < q.size - 1; ++hop) {
    const int index = wrap(q.rank - hop - 2, q.size);
    const bool last = hop == q.size - 2;
    const Range sum = partial(hop, index);
    const auto message = static_cast<uint32_t>(hop);
    got = b.recv_reduce(left, message, part(index), sum, last);
    if (!last && got != kNoStep) b.stream(right, message + 1, sum, got);
  }
  return got;
}

// n-1 hops that hand the parts around; messages are numbered from `first`. The own part is sent by
// the caller as message `first`.
template <typename Part>
void allgather_hops(ScheduleBuilder& b, const ScheduleRequest& q, uint32_t first, Part&& part) {
  const int right = wrap(q.rank + 1, q.size), left = wrap(q.rank - 1, q.size);
  for (int hop = 0; hop < q.size - 1; ++hop) {
    const Range arriving = part(wrap(q.rank - hop - 1, q.size));
    const uint32_t message = first + static_cast<uint32_t>(hop);
    const StepId got = b.recv(left, message, arriving);
    if (hop < q.size - 2 && got != kNoStep) b.stream(right, message + 1, arriving, got);
  }
}

}  // namespace

Schedule build_allreduce_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const auto part_of = [&](BufferId buffer) {
    return [&q, buffer](int index) { return even_part(buffer, q.count, q.size, index); };
  };
  const auto out = part_of(BufferId::kOut);
  // Partial sums live where the finished part will arrive: it can only come back after they left.
  const StepId own =
      reduce_scatter_hops(b, q, part_of(BufferId::kIn), [&](int, int index) { return out(index); });
  const auto first = static_cast<uint32_t>(q.size - 1);
  if (own != kNoStep) b.stream(wrap(q.rank + 1, q.size), first, out(q.rank), own);
  allgather_hops(b, q, first, out);
  return b.finish();
}

Schedule build_reduce_scatter_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  reduce_scatter_hops(
      b, q, [&](int index) { return block(BufferId::kIn, q.count, index); },
      [&](int hop, int) {
        return hop == q.size - 2 ? ScheduleBuilder::out(0, q.count) : b.scratch(q.count);
      });
  return b.finish();
}

Schedule build_allgather_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const auto part = [&](int index) { return block(BufferId::kOut, q.count, index); };
  const Range own = ScheduleBuilder::in(0, q.count);
  b.send(wrap(q.rank + 1, q.size), 0, own);
  allgather_hops(b, q, 0, part);
  b.copy_own(own, part(q.rank));
  return b.finish();
}

}  // namespace plumbline
