// The knee of a sweep of load.
#include "core/stats/knee.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plumbline {
namespace {

// A server that does `width` requests side by side, each in `time`; others wait.
std::vector<LoadPoint> server_sweep(double width, const std::vector<double>& loads) {
  std::vector<LoadPoint> points;
  for (const double load : loads) {
    const double served = std::min(load, width);
    points.push_back({load, served * 10, 1e8 * std::max(1.0, load / width)});
  }
  return points;
}

TEST(Knee, IsWhereRequestsBeginToWait) {
  EXPECT_EQ(knee_of(server_sweep(4, {1, 2, 4, 8, 16}))->index, 2U);
  EXPECT_FALSE(knee_of(server_sweep(4, {1, 2, 4, 8, 16}))->at_end);
  EXPECT_EQ(knee_of(server_sweep(1, {1, 2, 4}))->index, 0U) << "one at a time: more only waits";
}

TEST(Knee, MayLieBeyondTheSweep) {
  const auto knee = knee_of(server_sweep(64, {1, 2, 4}));
  EXPECT_EQ(knee->index, 2U);
  EXPECT_TRUE(knee->at_end);
}

TEST(Knee, NeedsThreeSoundPoints) {
  EXPECT_FALSE(knee_of({}));
  EXPECT_FALSE(knee_of(server_sweep(4, {1, 2})));
  std::vector<LoadPoint> points = server_sweep(4, {1, 2, 4});
  points[1].rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(knee_of(points));
  points = server_sweep(4, {1, 2, 4, 8});
  points[0].time_ns = 0;
  points[3].rate = -1;
  EXPECT_FALSE(knee_of(points));
}

TEST(Knee, OfEqualOnesTheLeastLoad) {
  const std::vector<LoadPoint> flat = {{1, 10, 1e6}, {2, 10, 1e6}, {4, 10, 1e6}};
  EXPECT_EQ(knee_of(flat)->index, 0U);
}

}  // namespace
}  // namespace plumbline
