// The correctness matrix over every row of the table of transports, opened as ranks open theirs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/support/collective_case.h"
#include "tests/support/opened_world.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

constexpr uint32_t kTableSeed = 20261124;

TEST(CollectivesThroughTheTable, AllPairsOfTheMatrixOverEveryTransport) {
  constexpr size_t kMostRanks = 4;
  const CollectiveMatrix matrix(kMostRanks);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kTableSeed, valid);
  EXPECT_GT(rows.size(), 100u);
  // Auto over two machines: shared memory inside each, TCP between them.
  std::vector<TransportRow> table(transport_table().begin(), transport_table().end());
  table.push_back(**find_transport("auto", false));
  size_t turn = 0;
  const char* const only = std::getenv("TEST_ONLY_TRANSPORT");
  for (const TransportRow& row : table) {
    if (only != nullptr && std::string_view(only) != row.name) continue;
    std::vector<std::unique_ptr<OpenedWorld>> opened;  // they outlive the groups
    const auto open = [&](int ranks, const WireShape& wire) {
      opened.push_back(std::make_unique<OpenedWorld>());
      if (row.name == std::string_view("auto")) opened.back()->heard = on_machines({0, 1, 0});
      opened.back()->options = with_wire(opened.back()->options, wire);
      std::string wrong;
      World world = open_all(row, ranks, *opened.back(), wrong);
      EXPECT_EQ(wrong, "") << row.name;
      return world;
    };
    // A machine that is emulated takes many times as long.
    const bool some = only != nullptr && std::getenv("TEST_EXHAUSTIVE") == nullptr;
    const std::vector<CoveringRow> share = some
                                               ? test::covering_share(rows, 8, test::share_number())
                                               : test::rows_to_run(rows, turn++);
    EXPECT_EQ(run_matrix(matrix, share, open, kTableSeed), "") << row.name;
  }
}

// What can be taken from the sender's memory is, over those that say so, and nothing elsewhere.
TEST(CollectivesThroughTheTable, LargeMessagesOfTheGroupsArraysDoNotGoThroughTheStream) {
  for (const TransportRow& row : transport_table()) {
    OpenedWorld opened;
    opened.options = *opened.options.with("direct_bytes", "1000", "test");
    std::string wrong;
    World world = open_all(row, 3, opened, wrong);
    ASSERT_EQ(wrong, "") << row.name;
    OperationSpec spec;
    spec.count = 100'003;
    spec.in_place = true;
    EXPECT_EQ(run_all_verified(world, {spec, spec}, 1), "") << row.name;
    const std::string_view name = row.name;
    const bool reaches = name == "shm";
    for (const auto& group : world) {
      const ChannelStats stats = group->stats();
      if (!reaches) {
        EXPECT_EQ(stats.direct_received, 0u) << row.name;
      } else {
        EXPECT_GT(stats.direct_received, 800'000u) << row.name;
        EXPECT_EQ(stats.direct_received, stats.payload_received) << row.name;
        EXPECT_EQ(stats.direct_sent, stats.payload_sent) << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
