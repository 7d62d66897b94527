// Groups by colour: who is in which, that groups of one rank run beside one another in any order,
// and that what goes wrong in one is an Error there, in time, with the numbers of both groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "tests/support/communicators.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

using SplitPart = std::optional<Communicator>;

Options with_watchdog(const char* time) {
  Options options;
  options.settings["watchdog_timeout_ms"] = time;
  return options;
}

// The group that split() gives, which must not fail.
SplitPart split_off(Communicator& group, std::optional<int> colour, int key = 0) {
  ErrorOr<SplitPart> part = group.split(colour, key);
  EXPECT_TRUE(part) << (part ? "" : part.error().message());
  EXPECT_EQ(part && part->has_value(), colour.has_value());
  return part ? std::move(*part) : std::nullopt;
}

// Every rank of `group` brings what it is called in the parent; all must get these sums.
void expect_sum(Communicator& group, int mine, const std::vector<int>& members, size_t count = 5) {
  std::vector<int32_t> data(count, mine);
  expect_done(group.allreduce(data).wait(kPatience));
  EXPECT_EQ(data, std::vector<int32_t>(count, std::accumulate(members.begin(), members.end(), 0)));
}

struct Wanted {
  const char* name;
  std::optional<int> (*colour)(int rank);
  int (*key)(int rank);
};
constexpr Wanted kWanted[] = {
    {"all the same, order turned round", [](int) { return std::optional(7); },
     [](int rank) { return -rank; }},
    {"each by itself", [](int rank) { return std::optional(-rank); }, [](int) { return 0; }},
    {"even and odd, alike keys", [](int rank) { return std::optional(rank % 2); },
     [](int) { return 3; }},
    {"thirds, the last without a colour",
     [](int rank) { return rank % 3 == 2 ? std::nullopt : std::optional(rank % 3 + 1'000'000); },
     [](int rank) { return rank % 2; }},
};

// What a rank should find in its group.
std::vector<int> expected_members(const Wanted& wanted, int size, int colour) {
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) {
    if (wanted.colour(rank) == colour) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return wanted.key(a) < wanted.key(b); });
  return members;
}

TEST(Split, OneToNineRanksGetWhatTheirColoursSay) {
  for (const char* way : kAllWays) {
    for (int size = 1; size <= 9; size += size < 4 ? 1 : 5) {
      std::vector<Communicator> ranks = ranks_over(way, size);
      ASSERT_EQ(ranks.size(), static_cast<size_t>(size)) << way;
      in_threads(ranks, [&](Communicator& group) {
        EXPECT_TRUE(group.parent_ranks().empty());
        for (const Wanted& wanted : kWanted) {
          SCOPED_TRACE(std::string(way) + ", " + wanted.name);
          const auto colour = wanted.colour(group.rank());
          SplitPart part = split_off(group, colour, wanted.key(group.rank()));
          if (part) {
            const std::vector<int> members = expected_members(wanted, size, *colour);
            EXPECT_EQ(part->parent_ranks(), members);
            EXPECT_EQ(part->size(), static_cast<int>(members.size()));
            EXPECT_EQ(members[static_cast<size_t>(part->rank())], group.rank());
            expect_sum(*part, group.rank(), members);
          }
          expect_done(group.barrier().wait(kPatience));
        }
      });
    }
  }
}

// Rank 3 r + c of 6 is in row r and in column c. All are split before anything runs.
struct Mesh {
  explicit Mesh(Communicator& all)
      : whole(all), row(split_off(all, all.rank() / 3)), column(split_off(all, all.rank() % 3)) {}
  Communicator& whole;
  SplitPart row, column;
};

// Each rank starts and waits in an order of its own: only what belongs to one group is in the same
// order on all.
TEST(Split, GroupsRunAtOnceInAnyOrder) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 6);
    ASSERT_EQ(ranks.size(), 6u);
    in_threads(ranks, [](Communicator& all) {
      Mesh mesh(all);
      ASSERT_TRUE(mesh.row && mesh.column);
      const int me = all.rank();
      Communicator* const groups[] = {&all, &*mesh.row, &*mesh.column};
      const int32_t sums[] = {15, me / 3 == 0 ? 3 : 12, 2 * (me % 3) + 3};
      for (int round = 0; round < 12; ++round) {
        const size_t count = round % 3 == 2 ? 300'000 : 1000;
        std::vector<std::vector<int32_t>> data(3, std::vector<int32_t>(count, me));
        std::vector<std::pair<size_t, Work>> works;
        for (int i = 0; i < 3; ++i) {
          const auto g = static_cast<size_t>(me * 7 + round + i * (me % 2 + 1)) % 3;
          works.emplace_back(g, groups[g]->allreduce(data[g]));
        }
        if ((me + round) % 2 == 0) std::reverse(works.begin(), works.end());
        for (auto& [g, work] : works) {
          expect_done(work.wait(kPatience));
          EXPECT_EQ(data[g], std::vector<int32_t>(count, sums[g]));
        }
      }
    });
  }
}

// The same by test(): who asks for one group only must not hold up the others.
TEST(Split, AskingForOneGroupMovesTheOthers) {
  std::vector<Communicator> ranks = ranks_over("memory", 6);
  in_threads(ranks, [](Communicator& all) {
    Mesh mesh(all);
    ASSERT_TRUE(mesh.row && mesh.column);
    std::vector<int32_t> in_row(300'000, 1), in_column(300'000, 1);
    Work row = mesh.row->allreduce(in_row), column = mesh.column->allreduce(in_column);
    const bool row_first = all.rank() % 2 == 0;
    for (Work* work : {row_first ? &row : &column, row_first ? &column : &row}) {
      const Deadline deadline = Deadline::after_ms(20'000);
      ErrorOr<bool> done = work->test();
      while (done && !*done && !deadline.passed()) done = work->test();
      EXPECT_TRUE(done && *done);
    }
    EXPECT_EQ(in_row, std::vector<int32_t>(300'000, 3));
    EXPECT_EQ(in_column, std::vector<int32_t>(300'000, 2));
  });
}

TEST(Split, EachGroupMayHaveAThreadOfItsOwn) {
  constexpr int kRounds = test::kSanitized ? 20 : 100;
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 6);
    ASSERT_EQ(ranks.size(), 6u);
    in_threads(ranks, [](Communicator& all) {
      Mesh mesh(all);
      ASSERT_TRUE(mesh.row && mesh.column);
      const auto work = [me = all.rank()](Communicator& group, std::vector<int> members) {
        for (int round = 0; round < kRounds; ++round) {
          expect_sum(group, me, members, 1 + static_cast<size_t>(round) * 50);
        }
      };
      const std::vector<int> in_row = mesh.row->parent_ranks();
      const std::vector<int> in_column = mesh.column->parent_ranks();
      std::thread row([&] { work(*mesh.row, in_row); });
      std::thread column([&] { work(*mesh.column, in_column); });
      work(all, {0, 1, 2, 3, 4, 5});
      row.join();
      column.join();
    });
  }
}

TEST(Split, PartsCanBeSplitAndOperationsMayBeUnderWay) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 4);
    in_threads(ranks, [](Communicator& all) {
      const int me = all.rank();
      std::vector<int32_t> long_one(400'000, me), other(400'000, 1);
      Work running = all.allreduce(long_one);
      SplitPart half = split_off(all, me / 2, -me);  // parents' ranks 1 0, and 3 2
      Work in_half = half->allreduce(other);
      SplitPart alone = split_off(*half, half->rank());
      EXPECT_EQ(alone->parent_ranks(), std::vector<int>{half->rank()});
      expect_sum(*alone, me, {me});
      expect_done(in_half.wait(kPatience));
      expect_done(running.wait(kPatience));
      EXPECT_EQ(long_one, std::vector<int32_t>(400'000, 6));
      EXPECT_EQ(other, std::vector<int32_t>(400'000, 2));
    });
  }
}

TEST(Split, ParentOrPartMayGoFirst) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    for (const bool parent_first : {true, false}) {
      std::vector<Communicator> ranks = ranks_over(way, 3);
      std::vector<SplitPart> parts(3);
      in_threads(ranks, [&parts](Communicator& all) {
        parts[static_cast<size_t>(all.rank())] = split_off(all, 1, 0);
      });
      if (parent_first) ranks.clear();
      std::vector<Communicator> left = std::move(ranks);
      if (parent_first) {
        for (SplitPart& part : parts) left.push_back(std::move(*part));
      } else {
        parts.clear();
      }
      in_threads(left, [](Communicator& group) { expect_sum(group, group.rank(), {0, 1, 2}); });
    }
  }
}

// ---- what goes wrong ---------------------------------------------------------------------------

TEST(Split, RanksThatCallSomethingElseAreNamed) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 2, with_watchdog("5s"));
    std::mutex mutex;
    std::string said;
    // As many bytes as a rank's first word in a split: only what it is for tells the two apart.
    in_threads(ranks, [&](Communicator& group) {
      std::vector<int64_t> mine(5), all(10);
      std::string wrong;
      if (group.rank() == 0) {
        const ErrorOr<SplitPart> part = group.split(1);
        EXPECT_FALSE(part);
      } else {
        static_cast<void>(group.allgather(mine, all).wait());
      }
      const Done next = group.barrier().wait();
      EXPECT_FALSE(next);
      const std::scoped_lock lock(mutex);
      said += next ? "" : next.error().message();
    });
    EXPECT_THAT(said, AllOf(HasSubstr("rank 0"), HasSubstr("split: allgather"),
                            HasSubstr("rank 1 called op 1 allgather")));
  }
}

TEST(Split, ARankThatDoesNotCallIsNamedInTime) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 3, with_watchdog("3s"));
    std::latch together(2);
    const Deadline deadline = Deadline::after_ms(10'000);
    in_threads(ranks, [&together](Communicator& group) {
      if (group.rank() == 1) return;
      together.arrive_and_wait();
      const ErrorOr<SplitPart> part = group.split(group.rank());
      ASSERT_FALSE(part);
      EXPECT_THAT(part.error().message(), HasSubstr("rank 1 is not in any operation"));
      EXPECT_TRUE(group.failure());
    });
    EXPECT_FALSE(deadline.passed());
  }
}

// The n-th split of one rank meets the n-th of the others. Groups that come of another order are
// groups all the same, and a rank that calls nothing in one of them is found.
TEST(Split, AnotherOrderOfSplitsEndsInTime) {
  std::vector<Communicator> ranks = ranks_over("memory", 2, with_watchdog("4s"));
  const Deadline deadline = Deadline::after_ms(15'000);
  in_threads(ranks, [](Communicator& group) {
    SplitPart first = split_off(group, group.rank() == 0 ? 1 : 2);
    SplitPart second = split_off(group, group.rank() == 0 ? 2 : 1);
    SplitPart both = split_off(group, 0);
    ASSERT_TRUE(first && second && both);
    EXPECT_EQ(first->size(), 1);
    // Rank 0 works with the group of both; rank 1 takes another one for it.
    const Done done = (group.rank() == 0 ? *both : *first).barrier().wait();
    EXPECT_EQ(static_cast<bool>(done), group.rank() == 1);
    if (group.rank() == 0) {
      EXPECT_THAT(done.error().message(), HasSubstr("rank 1 is the parent's rank 1"));
    }
    expect_done(group.barrier().wait(kPatience));  // the parent goes on
  });
  EXPECT_FALSE(deadline.passed());
}

TEST(Split, ALostRankIsNamedWithBothNumbersAndEndsNoOtherGroup) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 5, with_watchdog("5s"));
    std::latch split(5);
    in_threads(ranks, [&split](Communicator& all) {
      const int me = all.rank();
      SplitPart with_lost = split_off(all, me == 0 || me == 3 ? 1 : 2, 0);  // 3 is rank 1 of two
      SplitPart without = me == 3 ? split_off(all, std::nullopt) : split_off(all, 0);
      expect_done(with_lost->barrier().wait(kPatience));
      split.arrive_and_wait();
      if (me == 3) {
        with_lost.reset();
        const Communicator gone = std::move(all);
        return;
      }
      if (me == 0) {
        const Deadline deadline = Deadline::after_ms(10'000);
        std::vector<int32_t> data(100'000);
        const Done done = with_lost->allreduce(data).wait();
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().message(),
                    AllOf(HasSubstr("rank 1"), HasSubstr("rank 1 is the parent's rank 3")));
        EXPECT_EQ(done.error().ranks, std::vector<int>{1}) << "in this group";
        EXPECT_EQ(with_lost->failure()->message(), done.error().message());
        EXPECT_EQ(with_lost->barrier().wait().error().message(), done.error().message());
        EXPECT_FALSE(deadline.passed());
      }
      for (int round = 0; round < 3; ++round) expect_sum(*without, me, {0, 1, 2, 4});
      EXPECT_FALSE(without->failure());
    });
  }
}

TEST(Split, AbortEndsOneGroupOnly) {
  std::vector<Communicator> ranks = ranks_over("tcp", 2);
  in_threads(ranks, [](Communicator& all) {
    SplitPart part = split_off(all, 0, -all.rank());
    ASSERT_TRUE(part);
    expect_done(all.barrier().wait(kPatience));  // both have come
    if (all.rank() == 1) part->abort("enough");
    const Done done = part->barrier().wait(kPatience);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("enough"));
    expect_done(all.barrier().wait(kPatience));
  });
}

// What a program says of ranks of its own is text: only the rank that said it is translated.
TEST(Split, NumbersInTheTextOfAnAbortAreNotTakenForRanks) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 3);
    in_threads(ranks, [](Communicator& all) {
      SplitPart part = split_off(all, 0, -all.rank());  // 2 is rank 0, 1 is rank 1, 0 is rank 2
      expect_done(all.barrier().wait(kPatience));       // all have come
      if (all.rank() == 1) part->abort("rank 0 of the other job is gone");
      const Done done = part->barrier().wait(kPatience);
      ASSERT_FALSE(done);
      const std::string said = done.error().message();
      EXPECT_THAT(said, AllOf(HasSubstr("rank 0 of the other job"), Not(HasSubstr("rank 0 is"))));
      if (all.rank() == 1) return;
      EXPECT_THAT(said, HasSubstr("rank 1 ended the operation"));
      EXPECT_THAT(said, HasSubstr("rank 1 is the parent's rank 1"));
      EXPECT_EQ(done.error().ranks, std::vector<int>{1});
    });
  }
}

// Of groups of groups, an Error is about the group that gives it.
TEST(Split, ALostRankOfAPartOfAPartHasTheNumbersOfThese) {
  std::vector<Communicator> ranks = ranks_over("memory", 4, with_watchdog("5s"));
  in_threads(ranks, [](Communicator& all) {
    SplitPart half = split_off(all, 0, -all.rank());  // r is rank 3 - r
    SplitPart two = split_off(*half, half->rank() / 2);
    expect_done(two->barrier().wait(kPatience));
    if (all.rank() == 0) return;  // rank 3 of the half, rank 1 of the two
    if (all.rank() != 1) return expect_done(two->barrier().wait(kPatience));
    const Done done = two->barrier().wait();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("rank 1 is the parent's rank 3"));
    EXPECT_THAT(done.error().ranks, testing::Contains(1));
  });
}

// A group that has failed can no longer be split, and says why.
TEST(Split, AFailedGroupGivesItsReason) {
  std::vector<Communicator> ranks = ranks_over("memory", 2);
  ranks[0].abort("the disk is full");
  in_threads(ranks, [](Communicator& group) {
    const ErrorOr<SplitPart> part = group.split(0);
    ASSERT_FALSE(part);
    EXPECT_THAT(part.error().message(), HasSubstr("the disk is full"));
  });
}

}  // namespace
}  // namespace plumbline
