// Operations that follow one another at once, one or several in flight, in stretches between stops.
// Which operations of a stretch are verified is known before it begins: each works on a slot of its
// own, and a stretch ends when these are used up. At a stop the clock stands: results are verified,
// fresh data is written, and the ranks meet, so that none runs ahead while another still compares,
// and agree whether to go on. What follows a stop starts from standstill: the first operation of a
// stretch is not timed. One thread; all ranks make the same calls.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/engine.h"
#include "collectives/exchange.h"
#include "collectives/usage.h"
#include "collectives/verifier.h"

namespace plumbline {

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
