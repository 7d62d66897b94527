// Far more ranks than cores: 256 in one process over rings in memory, every operation right and
// nobody stuck.
#include <gtest/gtest.h>

#include "tests/support/collective_case.h"
#include "tests/support/sanitized.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int kRanks = 256;
constexpr uint32_t kManySeed = 256;

TEST(ManyRanks, EveryOperationIsRightOn256RanksInMemory) {
  if (test::kSanitized) GTEST_SKIP() << "256 threads take minutes under a sanitizer";
  const WireShape wire = {"small", 4096, 2048, false};  // 65 280 directed pairs of ranks
  World world = make_memory_groups(kRanks, channel_options_for(wire), {0, true}, wire.buffer_bytes);
  ASSERT_EQ(world.size(), static_cast<size_t>(kRanks));
  for (const OpRow& op : op_table()) {
    OperationSpec spec;
    spec.op = op.op;
    spec.count = 7;
    spec.root = op.rooted ? 101 : 0;
    const bool two_ranks =
        spec.op == Op::kPingpong || spec.op == Op::kStream || spec.op == Op::kBidirectional;
    if (two_ranks) continue;
    const std::vector<std::string> said = on_every_rank(world, [&](int rank, Group& group) {
      Executor executor(group, test_kernels());
      return run_verified(executor, spec, rank, kRanks, kManySeed);
    });
    ASSERT_EQ(first_of(said), "") << op.name;
  }
}

}  // namespace
}  // namespace plumbline
