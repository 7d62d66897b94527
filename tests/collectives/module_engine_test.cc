// The program's side of modules, over a module of the test's own that adds up what its ranks
// gather, and over those that are built.
#include "collectives/module_engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "collectives/module_loader.h"
#include "tests/support/collective_case.h"
#include "tests/support/places.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

enum class Manner { kWorks, kFails, kHangs };

class SumWork : public ModuleWork {
 public:
  SumWork(ModuleHost& host, const ModuleOperation& operation, Manner manner)
      : host_(host), q_(operation), manner_(manner) {}
  Status start(const void* in, void* out) override {
    in_ = in;
    out_ = static_cast<float*>(out);
    ended_ = false;
    return {};
  }
  Expected<bool> poll(Deadline) override {
    if (manner_ == Manner::kFails) return fail(ErrorCode::kPeerLost, "the wire broke");
    if (manner_ == Manner::kHangs) return false;
    if (std::exchange(ended_, true)) return true;
    std::string mine(q_.count * q_.width, '\0');
    std::memcpy(mine.data(), q_.in_place ? out_ : in_, mine.size());
    const auto all = host_.gather(mine);
    if (!all) return fail(all.error());
    std::fill_n(out_, q_.count, 0.0F);
    for (const std::string& of_rank : *all) {
      const auto* values = reinterpret_cast<const float*>(of_rank.data());
      for (uint64_t i = 0; i < q_.count; ++i) out_[i] += values[i];
    }
    return true;
  }
  std::string algorithm() const override { return "gathered"; }

 private:
  ModuleHost& host_;
  const ModuleOperation q_;
  const Manner manner_;
  const void* in_ = nullptr;
  float* out_ = nullptr;
  bool ended_ = true;
};

class SumEngine : public ModuleEngine {
 public:
  SumEngine(ModuleHost& host, Manner manner) : host_(host), manner_(manner) {}
  Expected<std::unique_ptr<ModuleWork>> prepare(const ModuleOperation& operation) override {
    return std::make_unique<SumWork>(host_, operation, manner_);
  }
  std::string library() const override { return "sums 1.2"; }
  std::string transport() const override { return "pigeons"; }
  void broken() override {}

 private:
  ModuleHost& host_;
  const Manner manner_;
};

// Behaves in its manner on one rank, and as it should on the others.
class SumModule : public EngineModule {
 public:
  explicit SumModule(Manner manner = Manner::kWorks, int rank = 0) : manner_(manner), rank_(rank) {}
  std::string unavailable() const override { return {}; }
  std::string unsupported(const ModuleOperation& operation, int ranks) const override {
    return operation.op == Op::kAllreduce && ranks < 5 ? "" : "it adds up to four";
  }
  bool waits() const override { return true; }
  Expected<std::unique_ptr<ModuleEngine>> open(ModuleHost& host, Deadline) override {
    return std::make_unique<SumEngine>(host, host.rank() == rank_ ? manner_ : Manner::kWorks);
  }

 private:
  const Manner manner_;
  const int rank_;
};

World module_world(int ranks) {
  return make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
}

// One operation three times, on arrays that take turns; what went wrong.
std::string run_verified(Engine& engine, const OperationSpec& spec, int64_t timeout_ms) {
  const auto work = engine.prepare(spec, 2, 1);
  if (!work) return work.error().message();
  for (const size_t slot : {0, 1, 0}) {
    (*work)->fill(slot, 7);
    if (const Status done = (*work)->run(slot, Deadline::after_ms(timeout_ms)); !done) {
      return done.error().message();
    }
    if (const uint64_t wrong = (*work)->count_wrong(slot, 7); wrong > 0) {
      return fmt::format("{} {}: {} wrong elements", to_string(spec.op), to_string(spec.dtype),
                         wrong);
    }
  }
  return "";
}

// Operations on every rank, one after the other; what went wrong, by rank.
std::vector<std::string> run_on_all(EngineModule& module, int ranks,
                                    const std::vector<OperationSpec>& specs,
                                    int64_t timeout_ms = 10'000) {
  World world = module_world(ranks);
  const OptionSet options = OptionSet().with("heartbeat_interval_ms", "50ms", "test").value();
  return on_every_rank(world, [&](int, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine =
        open_module_engine("test", module, {&group, &executor, &test_kernels(), &options});
    if (!engine) return engine.error().message();
    for (const OperationSpec& spec : specs) {
      std::string wrong = run_verified(**engine, spec, timeout_ms);
      if (!wrong.empty()) return wrong;
    }
    Resolved resolved;
    (*engine)->describe(resolved);
    const bool told = !resolved.library.empty() && !resolved.transport.empty();
    return told ? "" : "it does not say what it is";
  });
}

TEST(ModuleEngine, ItsResultsAreVerified) {
  for (const int ranks : {1, 2, 3, 9}) {
    for (const uint64_t count : {1, 3, 1000}) {
      for (const bool in_place : {false, true}) {
        SumModule module;
        OperationSpec spec;
        spec.count = count;
        spec.in_place = in_place;
        EXPECT_THAT(run_on_all(module, ranks, {spec}), Each("")) << ranks << " ranks, " << count;
      }
    }
  }
}

TEST(ModuleEngine, AnErrorOfTheLibraryReachesEveryRankWithItsRank) {
  SumModule module(Manner::kFails, 1);
  OperationSpec spec;
  spec.count = 10;
  const auto said = run_on_all(module, 3, {spec});
  EXPECT_THAT(said, Each(AllOf(HasSubstr("rank 1"), HasSubstr("engine test: allreduce"),
                               HasSubstr("the wire broke"))));
}

TEST(ModuleEngine, WhatDoesNotEndIsGivenUpAtTheDeadline) {
  SumModule module(Manner::kHangs, 2);
  OperationSpec spec;
  spec.count = 10;
  const int64_t start = monotonic_ns();
  const auto said = run_on_all(module, 3, {spec}, 300);
  EXPECT_LT(monotonic_ns() - start, 9 * kSecond);
  EXPECT_THAT(said[2], AllOf(HasSubstr("rank 2"), HasSubstr("did not end in time")));
}

Cell module_cell(const std::string& op = "allreduce") {
  Cell cell;
  cell.op = op;
  cell.ranks = 3;
  cell.count = 10;
  return cell;
}

TEST(ModuleEngine, CellsThatNoModuleCanDoAreRefused) {
  const SumModule module;
  EXPECT_EQ(module_unsupported(module, module_cell()), "");
  Cell cell = module_cell();
  cell.algorithm = "ring";
  EXPECT_THAT(module_unsupported(module, cell), HasSubstr("leave that to auto"));
  cell = module_cell();
  cell.outstanding = 2;
  EXPECT_THAT(module_unsupported(module, cell), HasSubstr("outstanding 1"));
  EXPECT_THAT(module_unsupported(module, module_cell("broadcast")), HasSubstr("adds up to four"));
  cell = module_cell();
  cell.ranks = 5;
  EXPECT_THAT(module_unsupported(module, cell), HasSubstr("adds up to four"));
}

TEST(ModuleEngine, ACellThatAsksForATransportIsRefusedByAnEngineWithANetworkOfItsOwn) {
  EXPECT_FALSE(has_own_network(kNativeEngine));
  for (const char* engine : {"gloo", "openmpi", "mpich"}) {
    EXPECT_TRUE(has_own_network(engine));
    Cell cell = module_cell();
    cell.engine = engine;
    cell.transport = "shm";
    const auto found = find_engine(engine);
    const std::string why = engine_unsupported(cell);
    EXPECT_THAT(why, HasSubstr(found ? "leave the transport to auto" : "")) << engine;
    EXPECT_NE(why, "") << engine;
  }
}

// gloo itself, its ranks as threads.

EngineModule* gloo_module() {
  const std::filesystem::path built = std::filesystem::path(test::program_path()).parent_path();
  const std::vector<std::filesystem::path> folders = {built};
  if (!std::filesystem::exists(built / "plumbline_engine_gloo.so")) return nullptr;
  const auto module = load_module(folders, "gloo");
  EXPECT_TRUE(module) << module.error().message();
  return module ? *module : nullptr;
}

TEST(GlooModule, EveryOperationTypeAndReductionThatItOffersIsRight) {
  EngineModule* gloo = gloo_module();
  if (gloo == nullptr) GTEST_SKIP() << "the module of gloo is not built";
  size_t ran = 0;
  for (const int ranks : {1, 2, 3, 4}) {
    std::vector<OperationSpec> specs;
    for (const OpRow& op : op_table()) {
      for (const DTypeRow& dtype : dtype_table()) {
        OperationSpec spec;
        spec.op = op.op;
        spec.dtype = dtype.dtype;
        spec.count = op.op == Op::kBarrier ? 0 : 37;
        spec.root = op.rooted ? ranks - 1 : 0;
        spec.in_place = op.has_in_place && dtype.size != 4;
        spec.redop = dtype.size == 8 ? RedOp::kMax : RedOp::kSum;
        const ModuleOperation asked{spec.op,    spec.dtype, spec.redop,   spec.root,
                                    spec.count, dtype.size, spec.in_place};
        const bool can = ranks >= op.min_ranks && gloo->unsupported(asked, ranks).empty();
        if (can) specs.push_back(spec);
        if (!can || dtype.dtype != DType::kBool) continue;
        spec.redop = RedOp::kProduct;  // and, beside or
        specs.push_back(spec);
      }
    }
    EXPECT_THAT(run_on_all(*gloo, ranks, specs), Each("")) << ranks << " ranks";
    ran += specs.size();
  }
  EXPECT_GT(ran, 200u);
}

TEST(GlooModule, WhatItLacksIsRefusedWithTheReason) {
  EngineModule* gloo = gloo_module();
  if (gloo == nullptr) GTEST_SKIP() << "the module of gloo is not built";
  ModuleOperation operation;
  operation.count = 1;
  EXPECT_EQ(gloo->unsupported(operation, 2), "");
  operation.redop = RedOp::kAvg;
  EXPECT_THAT(gloo->unsupported(operation, 2), HasSubstr("no average"));
  operation = {Op::kAllgather, DType::kBf16, RedOp::kSum, 0, 1, 2, false};
  EXPECT_THAT(gloo->unsupported(operation, 2), HasSubstr("no bf16"));
  operation = {Op::kReduceScatter, DType::kF32, RedOp::kSum, 0, 1, 4, false};
  EXPECT_THAT(gloo->unsupported(operation, 2), HasSubstr("reduce_scatter"));
  operation = {Op::kAllreduce, DType::kF32, RedOp::kSum, 0, 0, 4, false};
  EXPECT_THAT(gloo->unsupported(operation, 2), HasSubstr("empty"));
}

// A rank that does not come: the others are freed when the group gives it up, long before their
// own deadline.
TEST(GlooModule, ItsWaitEndsWhenTheGroupFails) {
  EngineModule* gloo = gloo_module();
  if (gloo == nullptr) GTEST_SKIP() << "the module of gloo is not built";
  World world = module_world(3);
  const OptionSet options;
  OperationSpec spec;
  spec.count = 1000;
  const int64_t start = monotonic_ns();
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    const auto engine =
        open_module_engine("gloo", *gloo, {&group, &executor, &test_kernels(), &options});
    if (!engine) return engine.error().message();
    const auto work = (*engine)->prepare(spec, 1, 1);
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      group.control().abort({ErrorCode::kPeerLost, "rank 2 went for a walk", 0, "", ""});
      return "rank 2 went for a walk";
    }
    const Status done = (*work)->run(0, Deadline::after_ms(20'000));
    return done ? "" : done.error().message();
  });
  EXPECT_THAT(said, Each(HasSubstr("rank 2 went for a walk")));
  EXPECT_LT(monotonic_ns() - start, 10 * kSecond);
}

}  // namespace
}  // namespace plumbline
