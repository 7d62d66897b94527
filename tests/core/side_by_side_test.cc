#include "core/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace plumbline {
namespace {

TEST(SideBySide, EveryTaskIsDoneOnceAndAllWhenItReturns) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{17}}) {
    std::vector<std::atomic<int>> done(count);
    side_by_side(count, [&](size_t i) { ++done[i]; });
    for (const auto& each : done) EXPECT_EQ(each, 1);
  }
}

}  // namespace
}  // namespace plumbline
