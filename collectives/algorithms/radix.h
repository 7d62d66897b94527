// Rounds of exchanges between ranks that differ in one digit. With radices r0 x r1 x ... a rank is
// the number whose lowest digit counts to r0, the next one to r1, and so on: in the round of a
// digit, the ranks that agree in all others are a group. The first radix groups neighbours.
#pragma once

#include <vector>

#include "collectives/schedule_builder.h"

namespace plumbline {

struct RadixRound {
  int rank = 0;
  int radix = 2;   // ranks of a group
  int stride = 1;  // between two of them
  int digit() const { return rank / stride % radix; }
  // The rank of the group with this digit.
  int peer(int other) const { return rank + (other - digit()) * stride; }
};

// In the order of the radices.
inline std::vector<RadixRound> radix_rounds(const ScheduleRequest& q) {
  std::vector<RadixRound> rounds;
  int stride = 1;
  for (const int radix : radices_of(q)) {
    rounds.push_back({q.rank, radix, stride});
    stride *= radix;
  }
  return rounds;
}

// Up to this size what a group sends is received as it comes and reduced when it is there, which
// costs memory for each of them; above, it is reduced from the wire, one after the other.
inline constexpr uint64_t kGatheredBytes = 64 * 1024;

// One range of elements that a group reduces, seen from one rank of it.
struct Fold {
  std::vector<int> peers;    // in the order in which the operands are combined
  int own = -1;              // stands for this rank among them
  uint32_t message = 0;      // the same from each
  Range have, sum;           // this rank's operand; the result; apart, or exactly the same
  bool last = false;         // completes the result of the operation
  std::vector<StepId> had;   // steps that write `have`
  std::vector<StepId> free;  // steps after which `sum` may be overwritten
};

// The step that completes the sum. IEEE addition and the like give the same bits for a+b and b+a
// (kernels/kernels.h), so the operand that comes from the wire may stand on either side.
StepId fold_gathered(ScheduleBuilder& b, const Fold& fold);
// The same straight from the wire, without memory of its own. If `have` is `sum`, this rank's
// operand has to come first or second. With fast_math MIN and MAX of a NaN, or of zeros of
// different sign, may depend on the side.
StepId fold_from_wire(ScheduleBuilder& b, const Fold& fold);

}  // namespace plumbline
