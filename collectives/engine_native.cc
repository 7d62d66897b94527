// The engine `native`: schedules run by the group's executor, arrays in this process's memory.
#include "collectives/host_work.h"

namespace plumbline {
namespace {

class NativeWork : public HostWork {
 public:
  NativeWork(Executor& executor, const OperationSpec& spec, const Group& group, size_t slots,
             std::vector<Executor::PlanPtr> plans)
      : HostWork(spec, group, slots), executor_(executor), plans_(std::move(plans)) {}

  Status start(size_t lane, size_t slot) override {
    return executor_.start(*plans_[lane], in(slot), out(slot));
  }
  Expected<bool> poll(size_t lane) override {
    if (Executor::done(*plans_[lane])) return true;
    if (const Status moved = executor_.progress(); !moved) return fail(moved.error());
    return Executor::done(*plans_[lane]);
  }
  Status wait(size_t lane, Deadline deadline) override {
    return executor_.wait(*plans_[lane], deadline);
  }
  Status run(size_t slot, Deadline deadline) override {
    return executor_.run(*plans_.front(), in(slot), out(slot), deadline);
  }

  std::string algorithm() const override { return Executor::algorithm_of(*plans_.front()).name; }
  uint64_t sent_bytes() const override { return Executor::cost_of(*plans_.front()).send_bytes; }

 private:
  Executor& executor_;
  std::vector<Executor::PlanPtr> plans_;  // one a lane
};

class NativeEngine : public Engine {
 public:
  explicit NativeEngine(const EngineContext& context) : context_(context) {}

  Expected<std::unique_ptr<EngineWork>> prepare(const OperationSpec& spec, size_t slots,
                                                size_t lanes) override {
    std::vector<Executor::PlanPtr> plans;
    for (size_t lane = 0; lane < lanes; ++lane) {
      Expected<Executor::PlanPtr> plan = context_.executor->prepare(spec);
      if (!plan) return fail(plan.error());
      plans.push_back(std::move(*plan));
    }
    return std::make_unique<NativeWork>(*context_.executor, spec, *context_.group, slots,
                                        std::move(plans));
  }

  void describe(Resolved& resolved) const override {
    resolved.transport = context_.group->transport_name();
    resolved.kernel = context_.kernels->target;
    resolved.chunk_bytes = context_.group->channel_options().chunk_bytes;
  }

  EngineTraffic traffic() const override {
    EngineTraffic traffic{context_.group->stats().wire_sent, 0};
    for (const auto& stats : context_.group->stream_stats()) {
      if (stats && stats->retransmits) traffic.retransmits += *stats->retransmits;
    }
    return traffic;
  }

 private:
  const EngineContext context_;
};

}  // namespace

Expected<std::unique_ptr<Engine>> open_native_engine(const EngineContext& context) {
  return std::make_unique<NativeEngine>(context);
}

}  // namespace plumbline
