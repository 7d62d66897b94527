// The buffers of one measured operation: allocated and touched before timing, filled with the exact
// pattern, and checked element by element afterwards against what the operation should have left on
// this rank. In place, input and output share memory as collectives/schedule.h says. With several
// slots successive operations use different memory, so that caches stay cold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/executor.h"
#include "kernels/pattern.h"

namespace plumbline {

// Buffers begin and end at a multiple of so many bytes: a page, so that no two of them share one.
inline constexpr size_t kOperandAlignment = 4096;

class Operand {
 public:
  Operand(const OperationSpec& spec, int rank, int size, size_t slots);

  // Pattern into the input and poison into the output of one slot; `seed` makes stale data visible.
  void fill(size_t slot, uint32_t seed);
  // Elements of this slot's output that are not what the operation should give, after fill(slot,
  // seed).
  uint64_t count_wrong(size_t slot, uint32_t seed) const;

  const void* in(size_t slot) const;
  void* out(size_t slot) const;
  size_t slots() const { return slots_.size(); }

 private:
  struct Slot {
    std::unique_ptr<std::byte, void (*)(void*)> in,
        out;  // out empty when it lies inside in, and the other way round
  };
  const Pattern& pattern(uint32_t seed) const;

  OperationSpec spec_;
  int rank_, size_;
  Shape shape_;
  std::vector<Slot> slots_;
  // The patterns of the last few seeds: building one costs more than checking a small message.
  mutable std::vector<std::pair<uint32_t, std::unique_ptr<Pattern>>> patterns_;
};

}  // namespace plumbline
