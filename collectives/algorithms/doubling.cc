// Algorithms whose rounds double what a rank knows: about log2(n) of them.
#include <algorithm>
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

// ceil(log2 n) rounds for any n: each rank collects parts in the order own, next, next but one, ...
// and in round k sends all it has (at most what is missing) 2^k ranks down; at the end the parts
// are rotated into place (Bruck, Ho, Kipnis, Upfal and Weathersby, 1997).
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

// log2(n) rounds for n a power of two: in round k each rank swaps the 2^k parts it has with the
// rank whose number differs in bit k.
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

// log2(n) rounds; in round k each rank exchanges all it has reduced so far with the rank whose
// number differs in bit k. Both compute lower (op) higher, so all ranks end with identical bits.
// Without a power of two the first ranks pair up before (fold) and hand out the result after
// (unfold).
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

// Dissemination barrier: in round k everybody tells the rank 2^k further that it and all it has
// heard of have come; after ceil(log2 n) rounds everybody has heard of everybody (Hensgen, Finkel
// and Manber, "Two algorithms for barrier synchronization", 1988).
Schedule build_barrier_dissemination(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  std::vector<StepId> heard;
  uint32_t round = 0;
  for (int distance = 1; distance < q.size; distance *= 2, ++round) {
    b.send_token(wrap(q.rank + distance, q.size), round, heard);
    heard.push_back(b.recv_token(wrap(q.rank - distance, q.size), round));
  }
  return b.finish();
}

}  // namespace plumbline
