// The executor's promises apart from right results: reuse, several operations in flight, polling,
// long local work, refusals.
#include "collectives/executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "collectives/prepared.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

World memory_world(int ranks, const WireShape& wire = kWireShapes[0]) {
  return make_memory_groups(ranks, channel_options_for(wire), {0, true}, wire.buffer_bytes);
}

OperationSpec allreduce(uint64_t count, DType dtype = DType::kI32) {
  OperationSpec spec;
  spec.dtype = dtype;
  spec.count = count;
  return spec;
}

Deadline soon() { return Deadline::after_ms(20'000); }

TEST(Executor, TextNamesWhatRanksMustAgreeOn) {
  OperationSpec spec = allreduce(16384, DType::kF32);
  EXPECT_EQ(spec.text(4, "ring"), "allreduce f32 sum 64 KiB (count 16384) ring");
  spec.op = Op::kAllgather;
  EXPECT_EQ(spec.text(4, "bruck"), "allgather f32 256 KiB (count 16384) bruck");
  spec.op = Op::kReduce;
  spec.redop = RedOp::kMax;
  spec.root = 2;
  EXPECT_EQ(spec.text(4, "chain"), "reduce f32 max 64 KiB (count 16384) root 2 chain");
  spec.op = Op::kBarrier;
  EXPECT_EQ(spec.text(4, "dissemination"), "barrier dissemination");
}

TEST(Executor, RefusesWhatMakesNoSense) {
  World world = memory_world(3);
  Executor executor(*world[0], test_kernels());
  const auto code = [&](const OperationSpec& spec) {
    const auto prepared = executor.prepare(spec);
    return prepared ? "fine" : to_string(prepared.error().code);
  };
  OperationSpec spec = allreduce(4);
  EXPECT_STREQ(code(spec), "fine");
  spec.algorithm = "nonsense";
  EXPECT_STREQ(code(spec), to_string(ErrorCode::kConfig));
  spec.algorithm = "direct";
  EXPECT_STREQ(code(spec), to_string(ErrorCode::kUnsupported));
  spec.algorithm = "auto";
  spec.op = Op::kBroadcast;
  for (int root : {-1, 3, 1000}) {
    spec.root = root;
    EXPECT_STREQ(code(spec), to_string(ErrorCode::kConfig)) << root;
  }
  spec.root = 0;
  spec.op = Op::kPingpong;
  spec.in_place = true;
  EXPECT_STREQ(code(spec), to_string(ErrorCode::kConfig));
}

TEST(Executor, RootOfAnOpWithoutRootDoesNotMatter) {
  World world = memory_world(2);
  EXPECT_EQ(first_of(on_every_rank(world,
                                   [](int rank, Group& group) {
                                     Executor executor(group, test_kernels());
                                     OperationSpec spec = allreduce(3);
                                     spec.root = rank * 7;
                                     return run_verified(executor, spec, rank, 2, 1);
                                   })),
            "");
}

TEST(Executor, OnePreparedOperationRunsManyTimesWithNewBuffers) {
  World world = memory_world(3);
  const auto said = on_every_rank(world, [](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    auto prepared = executor.prepare(allreduce(5));
    if (!prepared) return prepared.error().message();
    for (int32_t i = 0; i < 500; ++i) {
      std::vector<int32_t> in(5, rank + i), out(5);
      const Status status = executor.run(**prepared, in.data(), out.data(), soon());
      if (!status) return status.error().message();
      if (out != std::vector<int32_t>(5, 3 + 3 * i)) return "wrong in round " + std::to_string(i);
      if (!Executor::done(**prepared)) return "not done";
    }
    return {};
  });
  EXPECT_EQ(first_of(said), "");
}

// Different operations outstanding at once, ended in another order than started.
TEST(Executor, SeveralOperationsAreInFlight) {
  for (const WireShape& wire : kWireShapes) {
    World world = memory_world(4, wire);
    const auto said = on_every_rank(world, [](int rank, Group& group) -> std::string {
      Executor executor(group, test_kernels());
      std::vector<OperationSpec> specs;
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        OperationSpec spec;
        spec.op = algorithm.op;
        spec.algorithm = algorithm.name;
        spec.count = 1 + 777 * (specs.size() % 7);
        spec.root = static_cast<int>(specs.size() % 4);
        if (executor.prepare(spec)) specs.push_back(spec);
      }
      std::vector<Operand> operands;
      std::vector<decltype(executor.prepare(specs[0]))> prepared;
      for (const OperationSpec& spec : specs) {
        operands.emplace_back(spec, rank, 4, 1);
        operands.back().fill(0, 5);
        prepared.push_back(executor.prepare(spec));
      }
      for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < specs.size(); ++i) {
          const Status status =
              executor.start(**prepared[i], operands[i].in(0), operands[i].out(0));
          if (!status) return status.error().message();
        }
        for (size_t i = specs.size(); i-- > 0;) {
          const Status status = executor.wait(**prepared[i], soon());
          if (!status) return status.error().message();
          if (operands[i].count_wrong(0, 5) != 0) return "wrong: " + specs[i].algorithm;
        }
      }
      return {};
    });
    EXPECT_EQ(first_of(said), "") << wire.name;
  }
}

TEST(Executor, PollingWithoutWaiting) {
  World world = memory_world(2);
  const auto said = on_every_rank(world, [](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    Operand operand(allreduce(100'000), rank, 2, 1);
    operand.fill(0, 9);
    auto prepared = executor.prepare(allreduce(100'000));
    Status status = executor.start(**prepared, operand.in(0), operand.out(0));
    const Deadline deadline = soon();
    while (status && !Executor::done(**prepared) && !deadline.passed()) {
      const Expected<bool> moved = executor.progress();
      if (!moved) status = fail(moved.error());
      std::this_thread::yield();
    }
    if (!status) return status.error().message();
    return operand.count_wrong(0, 9) == 0 ? "" : "wrong";
  });
  EXPECT_EQ(first_of(said), "");
}

// Copies larger than a slice, alone and between messages.
TEST(Executor, LongLocalWork) {
  for (int ranks : {1, 2, 3}) {
    for (const char* algorithm : {"ring", "bruck"}) {
      World world = memory_world(ranks);
      OperationSpec spec;
      spec.op = Op::kAllgather;
      spec.algorithm = algorithm;
      spec.dtype = DType::kU8;
      spec.count = 3 * 256 * 1024 + 1;
      EXPECT_EQ(run_all_verified(world, {spec, spec}, 3), "") << ranks << algorithm;
    }
  }
  World world = memory_world(2);
  OperationSpec spec = allreduce((1 << 20) + 1, DType::kF64);  // direct: a local reduction of 8 MiB
  spec.algorithm = "direct";
  EXPECT_EQ(run_all_verified(world, {spec}, 3), "");
}

// From kFarBytes on results that nobody reads are stored past the caches.
TEST(Executor, LargeResultsAreRightPastTheCaches) {
  test::RowShare reductions, copies(2);
  for (const int ranks : {2, 3}) {
    for (const char* algorithm : {"direct", "ring"}) {
      for (const RedOp redop : {RedOp::kSum, RedOp::kAvg}) {
        if (!reductions.runs(algorithm)) continue;
        World world = memory_world(ranks);
        OperationSpec spec;
        spec.op = Op::kReduceScatter;
        spec.algorithm = algorithm;
        spec.redop = redop;
        spec.count = kFarBytes / sizeof(float) + 5;
        EXPECT_EQ(run_all_verified(world, {spec}, 1), "") << ranks << algorithm;
      }
    }
    if (!copies.runs()) continue;
    World world = memory_world(ranks);
    OperationSpec spec;
    spec.op = Op::kAllgather;
    spec.dtype = DType::kU8;
    spec.count = kFarBytes / 2 + 3;
    EXPECT_EQ(run_all_verified(world, {spec}, 1), "") << ranks;
  }
}

TEST(Executor, OutOfPlaceLeavesTheInputAlone) {
  for (const char* algorithm : {"direct", "ring", "recursive_doubling", "gather_reduce"}) {
    World world = memory_world(2);
    const auto said = on_every_rank(world, [&](int, Group& group) -> std::string {
      Executor executor(group, test_kernels());
      OperationSpec spec = allreduce(1000);
      spec.algorithm = algorithm;
      std::vector<int32_t> in(1000), out(1000);
      std::iota(in.begin(), in.end(), 1);
      const std::vector<int32_t> before = in;
      auto prepared = executor.prepare(spec);
      const Status status = executor.run(**prepared, in.data(), out.data(), soon());
      if (!status) return status.error().message();
      return in == before ? "" : "input changed";
    });
    EXPECT_EQ(first_of(said), "") << algorithm;
  }
}

TEST(Executor, MisuseIsAnErrorAndHarmsNobody) {
  World world = memory_world(2);
  const auto said = on_every_rank(world, [](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    Operand operand(allreduce(10), rank, 2, 1);
    operand.fill(0, 1);
    auto prepared = executor.prepare(allreduce(10));
    if (executor.wait(**prepared, soon())) return "waited for something never started";
    // Rank 1 has not begun, so rank 0's first start stays in flight until it does.
    Status status = executor.start(**prepared, operand.in(0), operand.out(0));
    if (!status) return status.error().message();
    if (!Executor::done(**prepared) && executor.start(**prepared, operand.in(0), operand.out(0))) {
      return "started twice";
    }
    status = executor.wait(**prepared, soon());
    if (!status) return status.error().message();
    return operand.count_wrong(0, 1) == 0 ? "" : "wrong";
  });
  EXPECT_EQ(first_of(said), "");
}

TEST(Executor, CostAndAlgorithmOfAPlan) {
  World world = memory_world(4);
  Executor executor(*world[1], test_kernels());
  auto prepared = executor.prepare(allreduce(400));
  ASSERT_TRUE(prepared);
  EXPECT_EQ(Executor::algorithm_of(**prepared), "recursive_doubling");
  EXPECT_EQ(Executor::cost_of(**prepared).send_bytes, 3200u);
}

TEST(Executor, AWorldOfOneNeedsNobody) {
  World world = memory_world(1);
  std::vector<OperationSpec> specs;
  for (const OpRow& op : op_table()) {
    if (op.min_ranks > 1) continue;
    for (bool in_place : {false, true}) {
      OperationSpec spec;
      spec.op = op.op;
      spec.redop = RedOp::kAvg;
      spec.count = 33;
      spec.in_place = in_place && allows_in_place(op.op);
      specs.push_back(spec);
    }
  }
  EXPECT_EQ(run_all_verified(world, specs, 1), "");
}

}  // namespace
}  // namespace plumbline
