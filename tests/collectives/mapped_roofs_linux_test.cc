// Roofs of pairs that map each other's arrays: what is held against operations whose bytes do not
// go through a stream must not go through one either.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "collectives/measure.h"
#include "tests/support/collective_case.h"
#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/opened_world.h"
#include "tests/support/program.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

// What the roof's record says of how the bytes went, on both ranks.
std::vector<std::string> ways(const char* op, const char* transport, uint64_t bytes,
                              const std::string& direct_bytes, bool finds_device = false) {
  OpenedWorld opened;
  TransportRow row = **find_transport(transport, true);
  if (finds_device) {  // by the address, where a Mac's is named
    row.name = "rdma with the device that is found";
    opened.options = *opened.options.with("transport", "rdma", "test");
    opened.options = *opened.options.with("rdma_library", test::fake_verbs_library(), "test");
  }
  opened.options = *opened.options.with("direct_bytes", direct_bytes, "test");
  std::string wrong;
  World world = open_all(row, 2, opened, wrong);
  EXPECT_EQ(wrong, "");
  Cell cell;
  cell.kind = CellKind::kRoof;
  cell.op = op;
  cell.ranks = 2;
  cell.bytes = bytes;
  MeasureSettings settings;
  settings.stop.max_time_ns = 5'000'000;
  std::vector<std::string> found(2);
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    MeasureContext context;
    context.group = &group;
    context.executor = &executor;
    context.kernels = &test_kernels();
    context.options = &opened.options;
    const Expected<Measurement> done = measure_roof(cell, settings, context);
    if (!done) return done.error().message();
    if (done->iterations == 0) return "no samples";
    found[static_cast<size_t>(rank)] = done->resolved.algorithm;
    return {};
  });
  return found;
}

TEST(MappedRoofs, GoTheWayOfTheOperationsThatAreHeldAgainstThem) {
  struct Row {
    const char* transport;
    uint64_t bytes;
    const char* direct_bytes;
    const char* way;
  };
  const Row rows[] = {
      {"shm", 3'000'004, "128Ki", "mapped"}, {"shm", 128 << 10, "128Ki", "mapped"},
      {"shm", 64 << 10, "128Ki", "none"},    {"shm", 8, "128Ki", "none"},
      {"shm", 3'000'004, "0", "none"},       {"tcp", 3'000'004, "128Ki", "none"},
  };
  test::RowShare share;
  for (const Row& row : rows) {
    for (const char* op : {"array_stream", "array_duplex"}) {
      if (!share.runs(row.way)) continue;
      const std::vector<std::string> both(2, row.way);
      EXPECT_EQ(ways(op, row.transport, row.bytes, row.direct_bytes), both)
          << op << " " << row.transport << " " << row.bytes << " " << row.direct_bytes;
    }
  }
  // One buffer that stays in the cache is no array: it goes as small messages go.
  EXPECT_EQ(ways("raw_stream", "shm", 3'000'004, "128Ki"), std::vector<std::string>(2, "none"));
}

// Ranks that talk over RDMA are held against the verbs alone: on UC, which loses messages, only
// where one at a time is under way. (On Apple's a message has at most 512 KiB.)
TEST(VerbsRoofs, AreThoseOfRanksThatTalkOverRdma) {
  const std::vector<std::string> verbs(2, "verbs"), stream(2, "none");
  for (const uint64_t bytes : {8, 4096, 100'000}) {
    EXPECT_EQ(ways("raw_pingpong", "rdma", bytes, "0"), verbs) << bytes;
    EXPECT_EQ(ways("raw_stream", "rdma", bytes, "0"), stream) << bytes;
  }
  EXPECT_EQ(ways("raw_pingpong", "rdma", 3'000'004, "0"), stream);
  EXPECT_EQ(ways("raw_exchange", "rdma", 4096, "0"), stream);
  EXPECT_EQ(ways("raw_pingpong", "tcp", 4096, "0"), stream);
  // A card that does RC.
  const ScratchFolder folder;
  setenv("FAKE_VERBS", folder.write("card", "device mlx5_0\ngid 3 ::ffff:127.0.0.1\n").c_str(), 1);
  for (const uint64_t bytes : {8, 100'000, 3'000'004}) {
    EXPECT_EQ(ways("raw_stream", "rdma", bytes, "0", true), verbs) << bytes;
  }
  EXPECT_EQ(ways("raw_pingpong", "rdma", 1'000'000, "0", true), verbs);
  unsetenv("FAKE_VERBS");
}

}  // namespace
}  // namespace plumbline
