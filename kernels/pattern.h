// Fill and verify: input data whose reduction is exact in any order and for any number of ranks up
// to 256, so that a wrong element is a wrong element and never a rounding. The value of element i
// of rank r depends on (dtype, redop, r, i mod a prime period, seed): small integers for sum, small
// factors for product, one distinguished rank per position for min and max. Truth values are 0 and
// 1, and so are the results: three of eight positions are decided by no rank, three by one rank
// alone (the one true of an or, the one false of an and), two by any. A prime period means
// that no chunk moved by a power of two verifies by accident; the seed changes per iteration, so
// stale data does not either. Ranks differ at most positions (in averages of u8 over many
// ranks, for which the type has little room, at few; truth values at one of eight or more). What a
// reduction cannot show, no pattern can: a missing contribution to MIN or MAX that is not the
// extreme one, or to an or or and that others decide too, and anything in an average of u8 over 256
// ranks, which is always 0. Expected results are computed once per tile and
// compared at memory speed. Thread-safe (const after build).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/op.h"

namespace plumbline {

inline constexpr size_t kPatternPeriod = 4099;  // elements; prime
inline constexpr int kPatternMaxRanks = 256;

class Pattern {
 public:
  // Precomputes the tiles of all ranks; `ranks` is the world size, 1 to kPatternMaxRanks. Not for
  // what reduction_unsupported() refuses.
  Pattern(DType dtype, RedOp redop, int ranks, uint32_t seed);

  // Writes the input of `rank`: elements [first, first + count) of its array.
  void fill(void* dst, int rank, uint64_t first, size_t count) const;
  // Writes the reduction over all ranks: elements [first, first + count) of it.
  void reduced(void* dst, uint64_t first, size_t count) const;
  // Number of elements of `data` that differ (in any bit) from `rank`'s input at [first, first +
  // count): for copies (broadcast, gather ...). `first_wrong` gets the index in the rank's array
  // (>= first) of the first such element, nullopt when there is none.
  size_t count_wrong_copy(const void* data, int rank, uint64_t first, size_t count,
                          std::optional<uint64_t>* first_wrong = nullptr) const;
  // The same against the reduction over all ranks (AVG: divided by `ranks` as the scale kernel
  // does).
  size_t count_wrong_reduced(const void* data, uint64_t first, size_t count,
                             std::optional<uint64_t>* first_wrong = nullptr) const;

 private:
  size_t element_size_;
  // One tile of kPatternPeriod elements each.
  std::vector<std::vector<std::byte>> tiles_;
  std::vector<std::byte> reduced_;
};

}  // namespace plumbline
