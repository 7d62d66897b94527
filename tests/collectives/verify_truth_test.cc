// Verified operations on truth values: who is left out of an or or an and is noticed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "collectives/engine.h"
#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr uint32_t kTruthSeed = 3;

// A rank whose array is as if it had taken no part: false for an or, true for an and.
uint64_t wrong_without(int ranks, int silent, RedOp redop) {
  World world = make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
  OperationSpec spec;
  spec.dtype = DType::kBool;
  spec.redop = redop;
  spec.count = 1001;
  std::atomic<uint64_t> wrong{0};
  const auto said = on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    Operand operand(spec, rank, ranks, 1);
    operand.fill(0, kTruthSeed);
    std::vector<uint8_t> in(spec.count, redop == RedOp::kSum || redop == RedOp::kMax ? 0 : 1);
    if (rank != silent) std::memcpy(in.data(), operand.in(0), in.size());
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    const Status done =
        executor.run(**prepared, in.data(), operand.out(0), Deadline::after_ms(20'000));
    if (!done) return done.error().message();
    if (rank == 0) wrong = operand.count_wrong(0, kTruthSeed);
    return {};
  });
  EXPECT_EQ(first_of(said), "");
  return wrong;
}

TEST(Verify, ARankThatIsLeftOutOfAnOrOrAnAndIsNoticed) {
  constexpr int kNobodySilent = -1;
  for (const RedOp redop : {RedOp::kSum, RedOp::kMin, RedOp::kMax, RedOp::kProduct}) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      EXPECT_EQ(wrong_without(ranks, kNobodySilent, redop), 0u) << to_string(redop) << " " << ranks;
      for (int silent = 0; silent < ranks; ++silent) {
        EXPECT_GT(wrong_without(ranks, silent, redop), 0u)
            << to_string(redop) << ": " << silent << " of " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
