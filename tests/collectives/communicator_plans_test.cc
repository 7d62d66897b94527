// What a Communicator keeps of its operations for later calls: as much as these need, and no more.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "collectives/communicator_impl.h"
#include "tests/support/communicators.h"

namespace plumbline {
namespace {

using Ints = std::vector<int32_t>;

// Prepared operations are kept for later calls, but not without end.
TEST(Communicator, ManyShapesComeAndGo) {
  std::vector<Communicator> ranks = in_memory(2);
  in_threads(ranks, [](Communicator& group) {
    for (size_t round = 0; round < 2; ++round) {
      for (size_t count = 1; count < 200; ++count) {
        Ints data(count, static_cast<int32_t>(count));
        expect_done(group.allreduce(data).wait(kPatience));
        EXPECT_EQ(data, Ints(count, static_cast<int32_t>(2 * count)));
      }
    }
  });
}

// Lists, by the number of elements of their arrays.
using Lists = std::vector<std::vector<size_t>>;

constexpr size_t kAlone = kAloneBytes / sizeof(int32_t);  // an operation of its own

struct Plans {
  uint64_t made_in_first_round = 0, made = 0;
  size_t kept = 0;
};

// A step of a training is a round: the same lists as in the one before it, and a number beside.
Plans plans_of(const Lists& lists, int rounds) {
  const auto group = *CommunicatorImpl::make(0, 1, {});
  group->open(std::move(make_memory_groups(1, {}).front()), nullptr);
  Plans plans;
  for (int round = 0; round < rounds; ++round) {
    for (const std::vector<size_t>& sizes : lists) {
      std::vector<Ints> arrays(sizes.begin(), sizes.end());
      expect_done(group->start_list({arrays.begin(), arrays.end()}, RedOp::kSum).wait(kPatience));
    }
    Ints loss(1);
    expect_done(group->start({Op::kAllreduce, loss, loss}).wait(kPatience));
    if (round == 0) plans.made_in_first_round = group->plans_made();
  }
  plans.made = group->plans_made();
  plans.kept = group->plans_kept();
  return plans;
}

TEST(CommunicatorPlans, ListsOfManyLargeArraysAreMadeReadyOnce) {
  const std::vector<size_t> alike(100, kAlone), others(150, kAlone);
  std::vector<size_t> all_differ;
  for (size_t i = 0; i < 80; ++i) all_differ.push_back(kAlone + i);
  for (const Lists& lists : {Lists{alike}, {all_differ}, {alike, others}}) {
    const Plans plans = plans_of(lists, 4);
    EXPECT_GT(plans.made_in_first_round, lists.front().size());
    EXPECT_EQ(plans.made, plans.made_in_first_round);
  }
}

// Nobody asks for such a list again.
TEST(CommunicatorPlans, OfListsThatNeverComeBackFewAreKept) {
  Lists lists;
  for (size_t i = 0; i < 40; ++i) lists.emplace_back(10, kAlone + i);
  const Plans plans = plans_of(lists, 1);
  EXPECT_EQ(plans.made, 401U);
  EXPECT_LE(plans.kept, 100U);
}

}  // namespace
}  // namespace plumbline
