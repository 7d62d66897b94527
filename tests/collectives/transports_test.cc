// The correctness matrix over every row of the table of transports, opened as ranks open theirs.
#include <gtest/gtest.h>

#include "tests/support/collective_case.h"
#include "tests/support/opened_world.h"

namespace plumbline {
namespace {

constexpr uint32_t kTableSeed = 20261124;

TEST(CollectivesThroughTheTable, AllPairsOfTheMatrixOverEveryTransport) {
  constexpr size_t kMostRanks = 4;
  const CollectiveMatrix matrix(kMostRanks);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kTableSeed, valid);
  EXPECT_GT(rows.size(), 100u);
  for (const TransportRow& row : transport_table()) {
    std::vector<std::unique_ptr<OpenedWorld>> opened;  // they outlive the groups
    const auto open = [&](int ranks, const WireShape& wire) {
      opened.push_back(std::make_unique<OpenedWorld>());
      OptionSet& options = opened.back()->options;
      const size_t chunk = std::max<size_t>(wire.chunk_bytes, 4096);  // the option's floor
      options = *options.with("chunk_bytes", std::to_string(chunk), "test");
      options = *options.with("transport_crc", wire.crc ? "1" : "0", "test");
      std::string wrong;
      World world = open_all(row, ranks, *opened.back(), wrong);
      EXPECT_EQ(wrong, "") << row.name;
      return world;
    };
    EXPECT_EQ(run_matrix(matrix, rows, open, kTableSeed), "") << row.name;
  }
}

}  // namespace
}  // namespace plumbline
