// topk: the same bits on all ranks, what it keeps back, and frames that somebody has spoiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "collectives/sparse_exchange.h"
#include "tests/collectives/compression_support.h"
#include "transport/channel/fault.h"

namespace plumbline {
namespace {

TEST(Topk, TheSameBitsWhateverTheDataAre) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr size_t kCount = 1001;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    World world = ranks_in_memory(ranks);
    for (int kind = 0; kind < 4; ++kind) {
      Arrays inputs = gradients(ranks, kCount);
      for (size_t rank = 0; rank < inputs.size(); ++rank) {
        for (size_t i = 0; i < kCount; ++i) {
          float& x = inputs[rank][i];
          if (kind == 1) x = 0;
          if (kind == 2) x = (i + rank) % 2 == 0 ? 1.0F : -1.0F;
          if (kind == 3 && i % 50 == rank) x = i % 100 < 50 ? kInf : std::nanf("");
        }
      }
      OperationSpec spec = compressed("topk:0.05", kCount);
      spec.redop = kind % 2 == 0 ? RedOp::kSum : RedOp::kAvg;
      const Arrays results = results_of(world, spec, inputs);
      ASSERT_NO_FATAL_FAILURE(expect_same_bits(results, std::to_string(kind)));
      if (kind == 1 || (kind == 2 && ranks == 2)) {
        EXPECT_EQ(results[0], std::vector<float>(kCount, 0));
      }
    }
  }
}

// What is given to two arrays over 25 steps, large numbers to one and small ones to the other: none
// of the large ones may turn up among the small ones, and nothing may get lost.
TEST(Topk, WhatIsKeptBackBelongsToOneArray) {
  constexpr size_t kCount = 200, kSteps = 25;
  constexpr int kRanks = 3;
  World world = ranks_in_memory(kRanks);
  OperationSpec spec = compressed("topk:0.1", kCount);
  const std::string wrong = first_of(on_every_rank(world, [&](int rank, Group& group) {
    Executor executor(group, test_kernels());
    auto prepared = executor.prepare(spec);
    std::vector<float> residual[2] = {std::vector<float>(kCount), std::vector<float>(kCount)};
    std::vector<double> got[2] = {std::vector<double>(kCount), std::vector<double>(kCount)};
    std::vector<float> out(kCount);
    for (size_t step = 0; step < kSteps; ++step) {
      for (size_t array = 0; array < 2; ++array) {
        const std::vector<float> in(kCount, array == 0 ? 100.0F : 0.01F);
        const Status done = executor.run(**prepared, in.data(), out.data(),
                                         Deadline::after_ms(20'000), residual[array].data());
        if (!done) return done.error().message();
        for (size_t i = 0; i < kCount; ++i) got[array][i] += static_cast<double>(out[i]);
      }
    }
    for (size_t array = 0; array < 2; ++array) {
      const double each = array == 0 ? 100 : 0.01;
      for (size_t i = 0; i < kCount; ++i) {
        // All ranks have the same data, so they hold back the same.
        const double given = each * kSteps * kRanks;
        const double kept = static_cast<double>(residual[array][i]) * kRanks;
        if (std::abs(got[array][i] + kept - given) > given * 1e-5) {
          return "rank " + std::to_string(rank) + " lost some of element " + std::to_string(i);
        }
        if (got[array][i] == 0) return "element " + std::to_string(i) + " was never sent";
      }
    }
    return std::string();
  }));
  EXPECT_EQ(wrong, "");
}

TEST(Topk, WithoutMemoryWhatIsNotSentIsLost) {
  World world = ranks_in_memory(2);
  const Arrays inputs = {{4, 1, -5, 2}, {4, 8, 0, 2}};
  const Arrays results = results_of(world, compressed("topk:0.25", 4), inputs);
  EXPECT_EQ(results[0], (std::vector<float>{0, 8, -5, 0}));
}

// ---- frames from elsewhere ----

TEST(Topk, AFrameThatIsNoneNamesItsRank) {
  constexpr uint64_t kCount = 100, kKept = 4;
  const auto add_up = [&](const std::vector<uint32_t>& indices) -> Expected<bool> {
    SparseExchange exchange({kCount, kKept, 0, 2, false}, test_kernels());
    std::vector<float> in(kCount, 1), out(kCount);
    exchange.begin(in.data(), out.data(), nullptr);
    exchange.select();
    auto* frame = reinterpret_cast<uint32_t*>(exchange.frames()) + 2 * kKept;  // of rank 1
    std::copy(indices.begin(), indices.end(), frame);
    std::fill_n(frame + kKept, kKept, 0x3f800000U);
    exchange.arrived();
    const Expected<bool> own = exchange.add_next();
    return own ? exchange.add_next() : own;
  };
  EXPECT_TRUE(add_up({0, 5, 98, 99}).value_or(false));
  for (const std::vector<uint32_t>& hostile : {std::vector<uint32_t>{0, 5, 99, 100},
                                               {0, 5, 99, 0xffffffff},
                                               {0x80000000, 1, 2, 3},
                                               {1, 1, 2, 3},
                                               {3, 2, 1, 0},
                                               {0, 2, 1, 3}}) {
    const Expected<bool> added = add_up(hostile);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::kProtocol);
    EXPECT_NE(added.error().what.find("rank 1"), std::string::npos) << added.error().what;
  }
}

// A bit of an index flips on its way: whoever gets it refuses it, and every rank learns of it.
TEST(Topk, ASpoiledIndexEndsTheOperationOnAllRanks) {
  const auto fault = parse_fault("flip:rank=1,peer=0,after=43");  // the fourth byte of an index
  ASSERT_TRUE(fault);
  World world = make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16,
                                   [spec = *fault](int self, int peer, auto stream) {
                                     return wrap_fault(spec, self, peer, std::move(stream));
                                   });
  const OperationSpec spec = compressed("topk:0.5", 10, "ring");
  std::vector<Error> errors(2);
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    auto prepared = executor.prepare(spec);
    std::vector<float> in(10, 1), out(10);
    Status done;
    for (int i = 0; i < 1000 && done; ++i) {
      done = executor.run(**prepared, in.data(), out.data(), Deadline::after_ms(20'000));
    }
    if (!done) errors[static_cast<size_t>(rank)] = done.error();
    return {};
  });
  EXPECT_EQ(errors[0].code, ErrorCode::kProtocol) << errors[0].message();
  EXPECT_NE(errors[0].what.find("rank 1 sent a topk frame"), std::string::npos)
      << errors[0].message();
  EXPECT_NE(errors[1].message(), "");
}

}  // namespace
}  // namespace plumbline
