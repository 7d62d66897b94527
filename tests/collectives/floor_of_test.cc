// Which bare transfer bounds an operation, by what its schedules really send.
#include <gtest/gtest.h>

#include "collectives/cell_run.h"
#include "core/op.h"

namespace plumbline {
namespace {

struct Case {
  const char *op, *algorithm;
  int ranks;
  uint64_t bytes;  // S
  FloorManner manner;
  uint64_t floor;  // bytes
};

Cell floor_cell(const Case& c) {
  Cell cell;
  cell.kind = CellKind::kLatency;
  cell.op = c.op;
  cell.algorithm = c.algorithm;
  cell.dtype = "f32";
  const OpRow& op = row(*op_from(c.op));
  cell.redop = op.reduces ? "sum" : "none";
  cell.root = op.rooted ? 0 : -1;
  cell.ranks = c.ranks;
  cell.bytes = c.bytes;
  return cell;
}

// Half of a 64 KiB ping-pong was taken for the floor of all of these.
TEST(FloorOf, IsWhatTheOperationSends) {
  using enum FloorManner;
  for (const Case& c : {Case{"reduce_scatter", "direct", 2, 65536, kBothWays, 32768},
                        Case{"allgather", "ring", 2, 65536, kBothWays, 32768},
                        Case{"alltoall", "direct", 2, 65536, kBothWays, 32768},
                        Case{"alltoall", "direct", 4, 65536, kBothWays, 16384},
                        Case{"allreduce", "direct", 2, 65536, kBothWays, 65536},
                        Case{"allreduce", "ring", 2, 65536, kBothWays, 65536},
                        Case{"allreduce", "ring", 4, 65536, kOneWay, 6 * 16384},
                        Case{"allreduce", "recursive_doubling", 4, 64, kBothWays, 64},
                        Case{"broadcast", "chain", 4, 1 << 20, kOneWay, 1 << 20},
                        Case{"reduce", "chain", 2, 8, kOneWay, 8},
                        Case{"gather", "direct", 4, 65536, kOneWay, 16384},
                        Case{"pingpong", "direct", 2, 65536, kRoundTrip, 65536},
                        Case{"stream", "direct", 2, 65536, kOneWay, 65536},
                        Case{"bidirectional", "direct", 2, 4096, kBothWays, 4096},
                        Case{"sendrecv", "direct", 3, 4096, kOneWay, 4096},
                        Case{"allreduce", "direct", 2, 4, kBothWays, 8},
                        Case{"barrier", "dissemination", 2, 0, kBothWays, 8}}) {
    const auto floor = floor_of(floor_cell(c), OptionSet());
    const std::string name = std::string(c.op) + " " + c.algorithm + " " + std::to_string(c.ranks);
    ASSERT_TRUE(floor) << name;
    EXPECT_EQ(floor->manner, c.manner) << name;
    EXPECT_EQ(floor->bytes, c.floor) << name;
  }
}

TEST(FloorOf, IsNotShownWhereNothingWouldBound) {
  const Case small{"allreduce", "direct", 2, 4096, FloorManner::kBothWays, 4096};
  Cell cell = floor_cell(small);
  ASSERT_TRUE(floor_of(cell, OptionSet()));
  cell.kind = CellKind::kBandwidth;
  EXPECT_FALSE(floor_of(cell, OptionSet()));
  cell = floor_cell(small);
  cell.bytes = kMostFloorBytes + 4;
  EXPECT_FALSE(floor_of(cell, OptionSet()));
  cell.bytes = 0;
  EXPECT_FALSE(floor_of(cell, OptionSet())) << "it sends nothing";
  cell = floor_cell(small);
  cell.ranks = 1;
  EXPECT_FALSE(floor_of(cell, OptionSet()));
  cell = floor_cell(small);
  cell.algorithm = "no such";
  EXPECT_FALSE(floor_of(cell, OptionSet()));
}

}  // namespace
}  // namespace plumbline
