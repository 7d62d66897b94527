// The correctness matrix over real TCP sockets on loopback, with several operations on the same
// connections.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "tests/transport/tcp_world.h"

namespace plumbline {
namespace {

constexpr uint32_t kTcpSeed = 20261121;

// Listeners and options must outlive the groups that were opened from them.
class TcpWorlds {
 public:
  using Options = std::map<std::string, std::string>;

  explicit TcpWorlds(Options options = {}) : options_(std::move(options)) {}

  World operator()(int ranks, const WireShape& wire) {
    const size_t chunk = std::max<size_t>(wire.chunk_bytes, 4096);  // the option's floor
    // Below a few segments TCP itself crawls (silly windows, delayed acknowledgements).
    const size_t buffer = std::max<size_t>(wire.buffer_bytes, 64 * 1024);
    Options options = {{"chunk_bytes", std::to_string(chunk)},
                       {"sock_bufsize", std::to_string(buffer)},
                       {"transport_crc", wire.crc ? "1" : "0"},
                       {"mesh", ranks % 2 == 0 ? "lazy" : "eager"}};
    options.insert(options_.begin(), options_.end());
    worlds_.push_back(std::make_unique<test::TcpWorld>(ranks, options));
    World groups(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        auto group = worlds_.back()->open(rank);
        ASSERT_TRUE(group) << group.error().message();
        groups[static_cast<size_t>(rank)] = std::move(*group);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return groups;
  }

 private:
  const Options options_;
  std::vector<std::unique_ptr<test::TcpWorld>> worlds_;
};

TEST(CollectivesOverTcp, AllPairsOfTheMatrix) {
  const CollectiveMatrix matrix(kMatrixRanks);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kTcpSeed, valid);
  RecordProperty("seed", static_cast<int>(kTcpSeed));
  RecordProperty("cases", static_cast<int>(rows.size()));
  EXPECT_GT(rows.size(), 150u);
  TcpWorlds worlds;
  const std::vector<CoveringRow> share = test::rows_to_run(rows);
  EXPECT_EQ(run_matrix(matrix, share, std::ref(worlds), kTcpSeed), "") << "seed " << kTcpSeed;
}

// Each pair joined by three connections.
TEST(CollectivesOverTcp, AllPairsOfTheMatrixOverSeveralStreams) {
  const CollectiveMatrix matrix(5);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kTcpSeed + 1, valid);
  EXPECT_GT(rows.size(), 100u);
  TcpWorlds worlds(TcpWorlds::Options{{"streams", "3"}});
  const std::vector<CoveringRow> share = test::rows_to_run(rows, 1);
  EXPECT_EQ(run_matrix(matrix, share, std::ref(worlds), kTcpSeed + 1), "");
}

// What is large is written by a second thread of each rank.
TEST(CollectivesOverTcp, LargeArraysWithAProgressThread) {
  for (const int ranks : {2, 3, 5}) {
    TcpWorlds worlds(TcpWorlds::Options{{"progress_thread", "on"}});
    World world = worlds(ranks, kWireShapes[0]);
    std::vector<OperationSpec> specs;
    for (const OpRow& row : op_table()) {
      for (const uint64_t count : {16'384u, 250'007u}) {
        OperationSpec spec;
        spec.op = row.op;
        spec.count = count;
        spec.root = ranks - 1;
        specs.push_back(spec);
      }
    }
    EXPECT_EQ(run_all_verified(world, specs, kTcpSeed), "") << ranks;
    ASSERT_TRUE(world[0]->stream_stats()[1] && world[0]->stream_stats()[1]->progress_thread);
  }
}

// Rings in orders that were asked for.
TEST(CollectivesOverTcp, RingsInAnyOrder) {
  TcpWorlds worlds;
  World world = worlds(5, kWireShapes[0]);
  std::vector<OperationSpec> specs;
  for (const Op op : {Op::kAllreduce, Op::kReduceScatter, Op::kAllgather}) {
    for (const char* ring : {"ring:0-3-1-4-2", "ring:2:0-3-1-4-2", "ring:4-3-2-1-0"}) {
      for (const uint64_t count : {3u, 250'007u}) {
        OperationSpec spec;
        spec.op = op;
        spec.algorithm = ring;
        spec.count = count;
        specs.push_back(spec);
      }
    }
  }
  EXPECT_EQ(run_all_verified(world, specs, kTcpSeed), "");
}

// Socket buffers that the kernel tunes may shrink after small messages, and then a large one
// crawls: seen with other stacks as 40 ms per 64 KiB.
TEST(CollectivesOverTcp, MixedSizesOnOldConnections) {
  TcpWorlds worlds;
  World world = worlds(3, kWireShapes[0]);
  std::vector<OperationSpec> specs;
  test::RowShare rounds;
  for (int round = 0; round < 30; ++round) {
    if (!rounds.runs()) continue;
    for (const uint64_t count : {2u, 16'384u, 1'000'000u}) {
      for (const Op op : {Op::kAllreduce, Op::kBroadcast, Op::kAlltoall}) {
        OperationSpec spec;
        spec.op = op;
        spec.count = count / 3 + static_cast<uint64_t>(round);
        spec.root = round % 3;
        specs.push_back(spec);
      }
    }
  }
  EXPECT_EQ(run_all_verified(world, specs, kTcpSeed), "");
}

}  // namespace
}  // namespace plumbline
