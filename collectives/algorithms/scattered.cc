// One rank to all or back in two steps, over all links at once: the array is cut into one part for
// each rank but the root, and whoever has a part hands it on, or reduces it, for all. The root
// moves the array once and nobody moves more, whatever the number of ranks (after Barnett and
// others, "Interprocessor collective communication library (InterCom)", and van de Geijn, "On
// global combine operations", both 1994; here parts go straight to all).
#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// The parts: the owner of part i is the i-th rank after the root.
struct Shares {
  const ScheduleRequest& q;
  int others() const { return q.size - 1; }
  int owner(int part) const { return wrap(q.root + 1 + part, q.size); }
  int own() const { return wrap(q.rank - q.root - 1, q.size); }
  Range part(BufferId buffer, int index) const {
    return even_part(buffer, q.count, others(), index);
  }
};

}  // namespace

Schedule build_broadcast_scatter_allgather(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Shares shares{q};
  if (q.rank == q.root) {
    for (int i = 0; i < shares.others(); ++i) {
      b.send(shares.owner(i), 0, shares.part(BufferId::kIn, i));
    }
    b.copy_own(ScheduleBuilder::in(0, q.count), ScheduleBuilder::out(0, q.count));
    return b.finish();
  }
  const int own = shares.own();
  const Range mine = shares.part(BufferId::kOut, own);
  const StepId got = b.recv(q.root, 0, mine);
  for (int hop = 1; hop < shares.others(); ++hop) {
    b.stream(shares.owner(wrap(own + hop, shares.others())), 0, mine, got);
  }
  for (int hop = 1; hop < shares.others(); ++hop) {
    const int from = wrap(own - hop, shares.others());
    b.recv(shares.owner(from), 0, shares.part(BufferId::kOut, from));
  }
  return b.finish();
}

// The owners add up what comes from the wire, own part first, the others in their order after it.
Schedule build_reduce_scatter_gather(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Shares shares{q};
  const bool is_root = q.rank == q.root;
  std::vector<StepId> left;  // in place the result lies where the array is sent from
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    if (to == q.root) continue;
    const int part = wrap(to - q.root - 1, q.size);
    left.push_back(b.send(to, 0, shares.part(BufferId::kIn, part)));
  }
  if (is_root) {
    for (int i = 0; i < shares.others(); ++i) {
      b.recv(shares.owner(i), 1, shares.part(BufferId::kOut, i));
    }
    return b.finish();
  }
  const Range mine = shares.part(BufferId::kIn, shares.own());
  const Range sum = b.scratch(mine.count);
  StepId reduced = kNoStep;
  for (int hop = 1; hop < q.size; ++hop) {
    reduced = b.recv_reduce(wrap(q.rank - hop, q.size), 0, hop == 1 ? mine : sum, sum,
                            hop + 1 == q.size, {reduced});
  }
  b.stream(q.root, 1, sum, reduced);
  return b.finish();
}

}  // namespace plumbline
