// log2(n) rounds for n a power of two: in round k each rank swaps the 2^k parts it has with the
// rank whose number differs in bit k.
#include "collectives/schedule_builder.h"

namespace plumbline {

Schedule build_allgather_recursive_doubling(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  const auto parts = [&](int first, int number) {
    return ScheduleBuilder::out(q.count * static_cast<uint64_t>(first),
                                q.count * static_cast<uint64_t>(number));
  };
  std::vector<StepId> have;
  uint32_t round = 0;
  for (int width = 1; width < q.size; width *= 2, ++round) {
    const int peer = q.rank ^ width;
    const int mine = q.rank & ~(width - 1), theirs = peer & ~(width - 1);
    b.send(peer, round, width == 1 ? own : parts(mine, width), have);
    const StepId got = b.recv(peer, round, parts(theirs, width));
    if (width == 1) have.push_back(b.copy_own(own, parts(q.rank, 1)));
    have.push_back(got);
  }
  return b.finish();
}

}  // namespace plumbline
