// The operations of a cell, one after another: which of them are verified, and how those that are
// back to back are run. All ranks hold the same mode and seed and are asked the same questions in
// the same order, so that they stop for the same operations without a word. docs/measuring.md says
// what each mode does, and the chance of missing a wrong result. One thread; all ranks make the
// same calls.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "collectives/engine.h"
#include "collectives/start_sync.h"
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
  uint64_t wrong_operations() const { return wrong_operations_; }
  uint64_t verified() const { return verified_; }
  uint64_t operations() const { return operations_; }
  // For operations beside those of the cell, which are checked like all others: what ran since
  // these counts were taken is not counted, but for what was wrong.
  struct Counts {
    uint64_t verified = 0, operations = 0;
  };
  Counts counts() const { return {verified_, operations_}; }
  void go_back_to(const Counts& counts) {
    verified_ = counts.verified;
    operations_ = counts.operations;
  }

 private:
  EngineWork& work_;
  VerifyMode mode_;
  std::vector<uint32_t> seeds_;  // of the data in each slot
  uint32_t seed_ = 0;            // the last one given
  std::mt19937 choice_;          // the same numbers on every platform
  uint64_t wrong_ = 0, wrong_operations_ = 0, verified_ = 0, operations_ = 0;
};

// What this process uses of its processors, and what of that went beside the operations that are
// measured.
struct Usage {
  int64_t cpu_ns = 0;                     // user and system time
  int64_t switches = 0, involuntary = 0;  // of the context; the latter are among the former

  Usage& operator+=(const Usage& other);
};
Usage operator-(Usage from, const Usage& what);

// Since the process began.
Usage usage_now();

// Adds to `sum` what the process uses while this lives.
class UsageAside {
 public:
  explicit UsageAside(Usage& sum) : sum_(sum), begin_(usage_now()) {}
  ~UsageAside() { sum_ += usage_now() - begin_; }
  UsageAside(const UsageAside&) = delete;
  UsageAside& operator=(const UsageAside&) = delete;

 private:
  Usage& sum_;
  Usage begin_;
};

// Operations that follow one another at once, one or several in flight, in stretches between stops.
// Which operations of a stretch are verified is known before it begins: each works on a slot of its
// own, and a stretch ends when these are used up. At a stop the clock stands: results are verified,
// fresh data is written, and the ranks meet, so that none runs ahead while another still compares,
// and agree whether to go on. What follows a stop starts from standstill: the first operation of a
// stretch is not timed. One thread; all ranks make the same calls.
class BackToBack {
 public:
  struct Setup {
    EngineWork* work = nullptr;
    uint64_t in_flight = 1;  // its lanes
    Exchange* exchange = nullptr;
    Verifier* verifier = nullptr;
    Usage* aside = nullptr;  // grows by what verification uses
    SlotCounts slots;
    uint64_t aggregate = 1;       // operations a sample; with one in flight only
    bool verifiable = true;       // repeated in place, nothing describes the result
    int64_t timeout_ms = 30'000;  // of each operation
  };
  explicit BackToBack(const Setup& setup) : s_(setup) {}

  // Asked on every rank at each stop, with the number of operations timed so far; all leave where
  // one says yes.
  using Enough = std::function<bool(uint64_t timed)>;

  // So many timed operations, or fewer but at least one where they are enough: their durations, and
  // in `window_ns` the time in which they ended while as many as possible were in flight.
  Status timed(uint64_t count, const Enough& enough, std::vector<int64_t>& durations,
               int64_t& window_ns);
  // So many operations, none of them timed.
  Status untimed(uint64_t count, const Enough& enough);

 private:
  uint64_t in_flight() const { return s_.in_flight; }
  uint64_t choose(uint64_t left);
  size_t slot_for(uint64_t index, uint64_t length);
  Status meet(bool& leave);
  Status stretch(uint64_t length, bool& leave, std::vector<int64_t>& durations, int64_t& window_ns);
  Status launch(uint64_t index, uint64_t length);
  // Calls use(slot) for each verified operation of a stretch.
  void for_each_verified(uint64_t length, const std::function<void(size_t)>& use) const;

  Setup s_;
  std::vector<uint64_t> drawn_;  // operations of the stretch with a slot of their own, in order
  size_t used_ = 0;              // of these slots
};

}  // namespace plumbline
