// The k elements of largest magnitude, for sparse exchanges. "Larger" is decided by the bits of the
// magnitude, so that the choice is the same on every machine and for every way to find it: any NaN
// is larger than infinity, and that than every number, so that both are chosen and never hidden; of
// equal ones (+x and -x are equal) those with the lowest index come first. Arrays have less than
// 2^32 elements. A selector is for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernels.h"

namespace plumbline {

// The definition, in words of the standard library: `indices` (ascending) and `values` get k
// elements; k <= count.
void topk_reference(const float* values, size_t count, size_t k, uint32_t* indices, float* chosen);

// The same, in about one pass over the array: a sample of it gives a magnitude that a little more
// than k elements should reach, these are collected, and the choice is made among them. Where the
// sample was misleading it is asked for less, until enough are collected; so what comes out never
// depends on the sample.
class TopkSelector {
 public:
  // For arrays of up to so many elements; selecting allocates nothing.
  explicit TopkSelector(size_t most);
  void select(const float* values, size_t count, size_t k, uint32_t* indices, float* chosen);
  // The same of sums + addends, which become the sums in the same pass, by `add`, the kernel for
  // f32.
  void select_sums(float* sums, const float* addends, ReduceFn add, size_t count, size_t k,
                   uint32_t* indices, float* chosen);

 private:
  // Makes the next `count` values from `begin` on, before they are looked at.
  using Make = std::function<void(size_t begin, size_t count)>;

  void choose(const float* values, const Make& make, size_t count, size_t k, uint32_t* indices,
              float* chosen);
  void collect(const float* values, size_t begin, size_t end, uint32_t least);

  std::vector<uint32_t> sample_;      // magnitudes
  std::vector<uint32_t> candidates_;  // indices, ascending
  std::vector<uint32_t> magnitudes_;  // of the candidates
};

}  // namespace plumbline
