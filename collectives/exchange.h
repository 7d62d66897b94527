// How the ranks agree while they measure: small arrays of 64-bit integers combined over all ranks
// with the stack's own allreduce, so that every rank goes on with the same numbers and takes the
// same decision. Where not all ranks are connected, along a tree of those that are. Between timed
// parts only. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "collectives/executor.h"

namespace plumbline {

class Exchange {
 public:
  // `timeout_ms` is the watchdog of each exchange; `tree` as spanning_tree() made it, null where
  // all ranks are connected. Along a tree go max(), sum() and barrier().
  Exchange(Executor& executor, int64_t timeout_ms, const std::vector<int>* tree = nullptr)
      : executor_(executor), timeout_ms_(timeout_ms), tree_(tree) {}

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
  Expected<Executor::Plan*> plan_for(Op op, RedOp redop, size_t capacity);

  Executor& executor_;
  int64_t timeout_ms_;
  const std::vector<int>* tree_;
  // Plans are kept per padded length (a power of two), so that only a handful are ever built.
  std::map<std::tuple<Op, RedOp, size_t>, Executor::PlanPtr> plans_;
  std::vector<int64_t> padded_;
};

}  // namespace plumbline
