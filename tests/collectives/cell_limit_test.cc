// The coordinator's patience with one cell. A long `coll` ended after two minutes with "is its
// process stopped", because a count of operations was no part of it.
#include <gtest/gtest.h>

#include "collectives/cell_run.h"

namespace plumbline {
namespace {

constexpr int64_t kMinute = 60'000;

TEST(CellLimit, CountedOperationsMayTakeAsLongAsTheirWatchdogsAllow) {
  Cell cell;
  cell.kind = CellKind::kBandwidth;
  MeasureSettings settings;
  const int64_t uncounted = cell_limit_ms(cell, settings);
  EXPECT_GT(uncounted, kMinute);
  settings.fixed_iterations = 1000;
  const int64_t counted = cell_limit_ms(cell, settings);
  // Dropped as late, each is tried again.
  EXPECT_GE(counted, uncounted + 3 * 1000 * settings.operation_timeout_ms);
  settings.fixed_warmup = 500;
  EXPECT_GE(cell_limit_ms(cell, settings), counted + 500 * settings.operation_timeout_ms);
  settings.aggregate = 4;
  EXPECT_GE(cell_limit_ms(cell, settings), 4 * counted - 3 * uncounted);
}

TEST(CellLimit, PhasesThatLastATimeAreGivenManyTimesThat) {
  Cell cell;
  cell.kind = CellKind::kThroughput;
  MeasureSettings settings;
  const int64_t before = cell_limit_ms(cell, settings);
  settings.throughput_time_ns += 10'000'000'000;
  EXPECT_EQ(cell_limit_ms(cell, settings), before + 20 * 10'000);
}

TEST(CellLimit, NothingOverflows) {
  Cell cell;
  cell.kind = CellKind::kBandwidth;
  MeasureSettings settings;
  settings.fixed_iterations = settings.fixed_warmup = settings.aggregate = 2'000'000'000;
  settings.operation_timeout_ms = 86'400'000;
  const int64_t limit = cell_limit_ms(cell, settings);
  EXPECT_GT(limit, 365 * 24 * 60 * kMinute);
  EXPECT_LT(limit, 367 * 24 * 60 * kMinute);
}

}  // namespace
}  // namespace plumbline
