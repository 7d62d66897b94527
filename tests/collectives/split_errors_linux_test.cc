// What goes wrong while a group is split off is told in the numbers of the group that was split,
// where the ranks of the new one are known by others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <latch>
#include <optional>
#include <vector>

#include "tests/support/communicators.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// So that no shared memory can be made. What there is can be used.
class NoLargeFiles {
 public:
  NoLargeFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{4096, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~NoLargeFiles() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  NoLargeFiles(const NoLargeFiles&) = delete;
  NoLargeFiles& operator=(const NoLargeFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(SplitErrors, APairThatCannotShareMemoryHasTheNumbersOfTheParent) {
  std::vector<Communicator> ranks = ranks_over("shm", 3);
  std::optional<NoLargeFiles> limit;
  std::latch split_once(3), limited(3), over(3);
  in_threads(ranks, [&](Communicator& all) {
    // Of 2 and 1, which are ranks 0 and 1. What the parent needs for a split, it has from then on.
    const auto split = [&all] {
      return all.rank() == 0 ? all.split(std::nullopt) : all.split(0, -all.rank());
    };
    const auto granted = split();
    ASSERT_TRUE(granted) << granted.error().message();
    split_once.arrive_and_wait();
    if (all.rank() == 0) limit.emplace();
    limited.arrive_and_wait();
    const auto refused = split();
    over.arrive_and_wait();
    if (all.rank() == 0) {
      limit.reset();
      EXPECT_TRUE(refused) << refused.error().message();
      return;
    }
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("rank 1 is the parent's rank 1"),
                                                 HasSubstr("rank 0 is the parent's rank 2")));
    EXPECT_THAT(refused.error().ranks, UnorderedElementsAre(1, 2)) << refused.error().message();
  });
}

}  // namespace
}  // namespace plumbline
