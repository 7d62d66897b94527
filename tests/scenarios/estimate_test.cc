// How long cells are expected to take: with size, stop rule and kind, and of lists and groups.
#include "scenarios/estimate.h"

#include <gtest/gtest.h>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

TEST(PlanEstimate, FollowsSizeStopRuleAndKind) {
  const auto seconds = [](const std::string& block) {
    return plan_of(parse(with_matrix(block, R"(, "roofs": false)"))).estimated_s;
  };
  const double small = seconds(R"({"op": "allreduce", "bytes": 8})");
  const double large = seconds(R"({"op": "allreduce", "bytes": "256Mi"})");
  EXPECT_LT(small, 1);
  EXPECT_GT(large, 2);
  EXPECT_LT(large, 30);
  EXPECT_LT(seconds(R"({"op": "allreduce", "bytes": "256Mi", "stop": {"max_n": 1, "min_n": 1}})"),
            large);
  EXPECT_LT(seconds(R"({"kind": "check", "op": "allreduce", "bytes": 8})"), small);
  EXPECT_GT(seconds(R"({"kind": "throughput", "op": "allreduce", "bytes": 8, "time": "10s"})"), 10);
}

// Seconds of a hundred operations.
double hundred_s(int arrays, uint64_t bytes, int ranks, const char* split) {
  PlanCell planned;
  planned.cell.op = "allreduce";
  planned.cell.ranks = ranks;
  planned.cell.bytes = bytes;
  planned.cell.count = bytes / sizeof(float);
  planned.cell.arrays = arrays;
  planned.cell.split = split;
  planned.stop.ci = 0;
  planned.stop.max_n = 100;
  planned.stop.max_time_ns = 60'000'000'000;
  return estimate_cell_s(planned);
}

// On two cores a list of 64 arrays of 128 KiB took 1.3 to 2 times as long as one array of 8 MiB,
// and one of 16384 arrays of 4 bytes took 4 times as long as one of 64 KiB.
TEST(PlanEstimate, ListsTakeTheMessagesOfTheirOperationsAndTheirPacking) {
  const auto list_over_one = [](int arrays, uint64_t bytes) {
    return hundred_s(arrays, bytes, 4, "") / hundred_s(1, bytes, 4, "");
  };
  constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
  EXPECT_GT(list_over_one(64, 8 * kMiB), 1.2);
  EXPECT_LT(list_over_one(64, 8 * kMiB), 2);
  EXPECT_GT(list_over_one(16384, 64 * kKiB), 2);
  EXPECT_LT(list_over_one(16384, 64 * kKiB), 6);
  EXPECT_GT(list_over_one(1024, 16 * kMiB), 1.3);
  EXPECT_LT(list_over_one(1024, 16 * kMiB), 3);
  EXPECT_LT(list_over_one(8, 8 * kKiB), 1.1);  // one operation, as of one array
}

// On two cores 8 ranks took 0.6 to 0.9 ms for 64 KiB, in two groups 0.5, in four 0.2.
TEST(PlanEstimate, GroupsTakeFewerMessagesThanAllRanksTogether) {
  const double all = hundred_s(1, 8, 8, ""), two = hundred_s(1, 8, 8, "mod:2");
  EXPECT_LT(two, 0.9 * all);
  EXPECT_LT(hundred_s(1, 8, 8, "mod:4"), 0.9 * two);
  EXPECT_GT(hundred_s(1, 8, 8, "mod:4"), 0.3 * all);
}

}  // namespace
}  // namespace plumbline::scenario_test
