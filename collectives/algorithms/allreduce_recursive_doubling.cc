// log2(n) rounds; in round k each rank exchanges all it has reduced so far with the rank whose
// number differs in bit k. Both compute lower (op) higher, so all ranks end with identical bits.
// Without a power of two the first ranks pair up before (fold) and hand out the result after
// (unfold).
#include <bit>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// The world with the folded ranks taken out: a power of two of them, numbered without gaps.
struct Folded {
  int pairs;  // ranks 0 .. 2 * pairs - 1 are folded in pairs
  int rounds;
  bool takes_part(int rank) const { return rank >= 2 * pairs || rank % 2 == 0; }
  int inner(int rank) const { return rank < 2 * pairs ? rank / 2 : rank - pairs; }
  int outer(int inner) const { return inner < pairs ? 2 * inner : inner + pairs; }
};

Folded fold(int size) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  return {size - power, std::countr_zero(static_cast<unsigned>(power))};
}

}  // namespace

Schedule build_allreduce_recursive_doubling(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Folded world = fold(q.size);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  const bool folded = q.rank < 2 * world.pairs;
  const auto unfold_message = static_cast<uint32_t>(world.rounds + 1);
  if (!world.takes_part(q.rank)) {
    b.send(q.rank - 1, 0, mine);
    b.recv(q.rank - 1, unfold_message, result);
    return b.finish();
  }
  const Range slots[2] = {b.scratch(q.count), b.scratch(world.rounds > 1 ? q.count : 0)};
  StepId slot_free[2] = {kNoStep, kNoStep};  // the reductions that used the slots last
  StepId last = kNoStep;
  if (folded) last = b.recv_reduce(q.rank + 1, 0, mine, result, false);
  for (int round = 0; round < world.rounds; ++round) {
    const int inner = world.inner(q.rank), partner = inner ^ (1 << round);
    const int peer = world.outer(partner);
    const auto message = static_cast<uint32_t>(round + 1);
    const Range have = last == kNoStep ? mine : result;
    const Range slot = slots[round % 2];
    const StepId sent = b.send(peer, message, have, {last});
    const StepId got = b.recv(peer, message, slot, {slot_free[round % 2]});
    const bool lower = inner < partner;
    last = b.reduce(lower ? have : slot, lower ? slot : have, result, round + 1 == world.rounds,
                    {sent, got});
    slot_free[round % 2] = last;
  }
  if (folded) b.send(q.rank + 1, unfold_message, result, {last});
  return b.finish();
}

}  // namespace plumbline
