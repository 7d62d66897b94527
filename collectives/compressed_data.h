// What compressed operations work on, and which of their results are right. The data: the pattern
// of kernels/pattern.h for sums of f32 (integers of 24 bits at most over all ranks, none negative)
// times 2^-9, so that sums stay below 2^15, which half precision can hold, while the numbers have
// more bits than it: exact in f32 in any order, and rounded by every codec. What is right:
//
// fp16 and bf16. Every contribution is rounded at most n times on its way into the result over n
// ranks (collectives/schedule.h), and takes part in at most n - 1 sums and a division in f32. With
// unit roundoffs u (2^-11, 2^-8) and v (2^-24) the standard error analysis (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd edition, section 4.2) gives, for an exact result s of
// contributions that are not negative,
//   |result - s| <= ((1 + u)^n (1 + v)^n - 1) s + n t
// where t = 2^-25 is half of the least fp16 (0 for bf16, which has the exponents of f32): what is
// rounded below the normal numbers. An element further off is wrong.
//
// topk. fill() begins with nothing left over from before, so that the contributions of all ranks
// are known: the choice is made here again and added up in the order of the ranks; an element with
// other bits is wrong.
//
// Either way the error against the exact result is kept, the largest seen. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/codec.h"
#include "core/op.h"
#include "kernels/pattern.h"
#include "kernels/topk.h"

namespace plumbline {

// Against the result without compression.
struct ResultError {
  double max_abs = 0;
  double max_rel = 0;  // of the largest element of the exact result
};

class CompressedData {
 public:
  CompressedData(const Codec& codec, RedOp redop, int ranks);

  static void fill(const Pattern& pattern, int rank, float* dst, uint64_t count);
  // Elements of `result` that are wrong, after one operation on arrays filled so.
  uint64_t count_wrong(const Pattern& pattern, const float* result, uint64_t count);

  // The most that a right result may differ from `exact`, with fp16 and bf16.
  double bound(double exact) const { return relative_ * exact + absolute_; }
  const ResultError& error() const { return error_; }

 private:
  // Of topk: the result that is right.
  void expect(const Pattern& pattern, uint64_t count);
  void note_error(double distance, double largest);

  const Codec codec_;
  const RedOp redop_;
  const int ranks_;
  double relative_ = 0, absolute_ = 0;
  ResultError error_;
  std::optional<TopkSelector> selector_;
  std::vector<float> input_, expected_, chosen_;
  std::vector<uint32_t> indices_;
};

}  // namespace plumbline
