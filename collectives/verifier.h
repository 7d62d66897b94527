// Which operations of a cell are verified, and how many were. All ranks hold the same mode and seed
// and are asked the same questions in the same order, so that they stop for the same operations
// without a word. docs/measuring.md says what each mode does, and the chance of missing a wrong
// result. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "collectives/engine.h"
#include "core/options/options.h"
#include "core/record/cell.h"

namespace plumbline {

enum class VerifyMode {
  kNone,     // nothing (coll -c 0)
  kLast,     // the first operations, and the last one of each block
  kSampled,  // all where operations start together, a random share back to back
  kEvery,    // all
};
VerifyMode verify_mode(const OptionSet& options, bool wanted);

// One back-to-back operation of so many is verified, on average.
inline constexpr uint32_t kVerifyOneIn = 16;

// The arrays that a cell works on: `ordinary` ones take turns; `check` ones hold the fresh data of
// back-to-back operations that will be verified, because what ran before must not touch them: as
// many as can be in flight for the last ones of a stretch, the rest for those drawn among the
// others.
struct SlotCounts {
  size_t ordinary = 1, check = 0;
  size_t all() const { return ordinary + check; }
};
SlotCounts slots_of(const Cell& cell, VerifyMode mode);
// How many operations a cell has in flight at once.
size_t in_flight_of(const Cell& cell);

class Verifier {
 public:
  Verifier(EngineWork& work, size_t slots, VerifyMode mode, uint32_t seed)
      : work_(work), mode_(mode), seeds_(slots, 0), choice_(seed) {}

  VerifyMode mode() const { return mode_; }
  bool on() const { return mode_ != VerifyMode::kNone; }
  // Is the next operation of several that are back to back verified?
  bool chosen() { return mode_ == VerifyMode::kSampled && choice_() % kVerifyOneIn == 0; }

  // Fresh known data into a slot; other data than before.
  void fill(size_t slot);
  // So many operations ran.
  void ran(uint64_t operations) { operations_ += operations; }
  // The one operation that ran on this slot since it was filled: is its result right?
  void check(size_t slot);

  uint64_t wrong() const { return wrong_; }  // elements, on this rank
  uint64_t verified() const { return verified_; }
  uint64_t operations() const { return operations_; }

 private:
  EngineWork& work_;
  VerifyMode mode_;
  std::vector<uint32_t> seeds_;  // of the data in each slot
  uint32_t seed_ = 0;            // the last one given
  std::mt19937 choice_;          // the same numbers on every platform
  uint64_t wrong_ = 0, verified_ = 0, operations_ = 0;
};

}  // namespace plumbline
