// Allreduce by exchanges of whole arrays: in each round every rank of a group sends all it has
// reduced so far to the others of the group, and each of them reduces what it gets in the order of
// the ranks, so that all end with the same bits. Few messages one after the other and many bytes:
// the sum of (radix - 1) arrays. 2x2x... is recursive doubling, one radix the one-shot; every
// number of ranks has radices, so that none has to be folded away.
#include "collectives/algorithms/radix.h"

namespace plumbline {
namespace {

// Where a sum lies, and the steps that still read what is there.
struct Slot {
  Range range;
  std::vector<StepId> readers = {};
};

}  // namespace

Schedule build_allreduce_exchange(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const std::vector<RadixRound> rounds = radix_rounds(q);
  const bool gathered = q.count * q.elem_size <= kGatheredBytes;
  // In place the input is sent from where the result goes, so that the first sum may not lie there.
  const bool parked = q.in_place && rounds.size() == 1 && !gathered;
  Slot result{ScheduleBuilder::out(0, q.count)}, input{ScheduleBuilder::in(0, q.count)};
  Slot odd{b.scratch(rounds.size() > 1 || parked ? q.count : 0)};
  Slot even{b.scratch(rounds.size() > 2 && q.in_place ? q.count : 0)};
  Slot* have = q.in_place ? &result : &input;
  StepId had = kNoStep;
  for (size_t left = rounds.size(); left-- > 0;) {
    const RadixRound& round = rounds[rounds.size() - 1 - left];
    for (int i = 1; i < round.radix; ++i) {
      const int peer = round.peer(wrap(round.digit() + i, round.radix));
      have->readers.push_back(b.stream(peer, 0, have->range, had));
    }
    // Nobody writes where the array lies that is being sent: two places take turns.
    Slot* sum = left % 2 == 1 || parked ? &odd : left > 0 && q.in_place ? &even : &result;
    Fold fold{{}, q.rank, 0, have->range, sum->range, left == 0, {had}, std::move(sum->readers)};
    for (int digit = 0; digit < round.radix; ++digit) fold.peers.push_back(round.peer(digit));
    had = gathered ? fold_gathered(b, fold) : fold_from_wire(b, fold);
    have->readers.push_back(had);
    sum->readers.clear();
    have = sum;
  }
  result.readers.push_back(had);
  if (parked) b.copy(have->range, result.range, result.readers);
  return b.finish();
}

}  // namespace plumbline
