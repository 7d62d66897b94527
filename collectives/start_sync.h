// How the ranks agree while they measure, and how they start a timed operation together. Agreeing:
// small arrays of 64-bit integers combined over all ranks with the stack's own allreduce, so that
// every rank goes on with the same numbers and takes the same decision. Starting, behind one
// interface: `none`: they do not start together, one operation follows the other. `barrier`: a
// barrier before each, and every rank times from its own return from it. `window`: rank 0 announces
// a moment a little ahead, every rank waits for it on its own clock, and times run from that common
// moment to the rank's exit in rank 0's time (SKaMPI: Worsch, Reussner and Augustin, On
// benchmarking collective MPI operations, 2002; the window that is given up when a rank comes late:
// Hunold and Carpen-Amarie, MPI benchmarking revisited, 2015). docs/measuring.md has the formulas.
// One thread per rank; all ranks make the same calls, between timed parts only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/clock_sync.h"
#include "collectives/executor.h"
#include "core/record/record.h"

namespace plumbline {

class Exchange {
 public:
  // `timeout_ms` is the watchdog of each exchange.
  Exchange(Executor& executor, int64_t timeout_ms) : executor_(executor), timeout_ms_(timeout_ms) {}

  // Replaces every element by its maximum, or its sum, over all ranks. Same length on all ranks.
  Status max(std::vector<int64_t>& values) { return combine(values, RedOp::kMax); }
  Status sum(std::vector<int64_t>& values) { return combine(values, RedOp::kSum); }
  // Nobody returns before everybody has called.
  Status barrier();
  // Every rank gets rank 0's value; whoever returns knows that rank 0 has called.
  Status from_rank_zero(int64_t& value);
  // The same empty-handed.
  Status follow_rank_zero();

 private:
  Status combine(std::vector<int64_t>& values, RedOp redop);
  Expected<Executor::Prepared*> prepared_for(Op op, RedOp redop, size_t capacity);

  Executor& executor_;
  int64_t timeout_ms_;
  // Prepared ones are kept per padded length (a power of two), so that only a handful are ever
  // built.
  std::map<std::tuple<Op, RedOp, size_t>, Executor::PreparedPtr> prepared_;
  std::vector<int64_t> padded_;
};

class StartSync {
 public:
  virtual ~StartSync() = default;

  // There is time between operations: each can have fresh data and be verified.
  virtual bool apart() const { return true; }
  // Before a block of operations: clocks are compared again where that is due.
  virtual Status before_block() { return {}; }
  // Returns when this rank is to start the operation.
  virtual Status begin() = 0;
  // The operation has ended here: its time on this rank, ns.
  virtual int64_t end() = 0;

  // Around the agreement of a block: what this rank started late is marked, so that the maximum
  // over the ranks is too; after it, samples that are marked in `slowest` go from both lists.
  virtual void mark_late(std::vector<int64_t>& durations) { static_cast<void>(durations); }
  virtual void drop_late(std::vector<int64_t>& slowest, std::vector<int64_t>& own) {
    static_cast<void>(slowest);
    static_cast<void>(own);
  }
  // After the last block: what the record says of clocks and late samples, the same on all ranks
  // but for per_rank, which must hold this rank's entry.
  virtual Status describe(Measurement& result) {
    static_cast<void>(result);
    return {};
  }
};

// `sync` as in Cell: "none", "barrier" or "window", null when it is another word. The rest must
// outlive the result; `clocks` is used by windows only.
std::unique_ptr<StartSync> make_start_sync(const std::string& sync, Group& group,
                                           Exchange& exchange, ClockSync& clocks,
                                           int64_t timeout_ms);

}  // namespace plumbline
