#include "collectives/exchange.h"

#include <algorithm>
#include <bit>

namespace plumbline {

Expected<Executor::Plan*> Exchange::plan_for(Op op, RedOp redop, size_t capacity) {
  const auto key = std::tuple{op, redop, capacity};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second.get();
  OperationSpec spec;
  spec.op = op;
  spec.dtype = DType::kI64;
  spec.redop = redop;
  spec.count = capacity;
  spec.in_place = op != Op::kBarrier;
  spec.tree = tree_;
  Expected<Executor::PlanPtr> plan = executor_.prepare(spec);
  if (!plan) return fail(plan.error());
  return plans_.emplace(key, std::move(*plan)).first->second.get();
}

Status Exchange::combine(std::vector<int64_t>& values, RedOp redop) {
  const size_t capacity = std::bit_ceil(std::max<size_t>(values.size(), 8));
  const Expected<Executor::Plan*> plan = plan_for(Op::kAllreduce, redop, capacity);
  if (!plan) return fail(plan.error());
  padded_.assign(capacity, 0);
  std::copy(values.begin(), values.end(), padded_.begin());
  const Status done =
      executor_.run(**plan, nullptr, padded_.data(), Deadline::after_ms(timeout_ms_));
  if (done) std::copy_n(padded_.begin(), values.size(), values.begin());
  return done;
}

Status Exchange::barrier() {
  if (tree_ != nullptr) {
    std::vector<int64_t> nothing = {0};
    return max(nothing);
  }
  const Expected<Executor::Plan*> plan = plan_for(Op::kBarrier, RedOp::kSum, 0);
  if (!plan) return fail(plan.error());
  return executor_.run(**plan, nullptr, nullptr, Deadline::after_ms(timeout_ms_));
}

Status Exchange::from_rank_zero(int64_t& value) {
  const Expected<Executor::Plan*> plan = plan_for(Op::kBroadcast, RedOp::kSum, 1);
  if (!plan) return fail(plan.error());
  return executor_.run(**plan, nullptr, &value, Deadline::after_ms(timeout_ms_));
}

Status Exchange::follow_rank_zero() {
  int64_t nothing = 0;
  return from_rank_zero(nothing);
}

}  // namespace plumbline
