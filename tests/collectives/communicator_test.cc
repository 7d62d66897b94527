// The library's door: all operations between 1 to 9 ranks in memory and over TCP, and what a user
// may do wrong or lose is an Error that says so, in time.
#include "plumbline/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "plumbline/version.h"
#include "tests/support/communicators.h"
#include "tests/support/places.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr int kMostTestRanks = 9;

std::vector<Communicator> over_tcp(int size) { return connected(connect_all(size)); }

struct Way {
  const char* name;
  std::vector<Communicator> (*open)(int size);
};
constexpr Way kWays[] = {{"memory", in_memory}, {"tcp", over_tcp}};

// Element i of what rank r brings, for rank `to` where that matters.
int32_t element(int r, size_t i, int to = 0) { return r * 1000 + to * 100 + static_cast<int>(i); }

using Ints = std::vector<int32_t>;

// `parts` parts of `count` elements, part p as value(p, i) has it.
Ints made(size_t parts, size_t count, const std::function<int32_t(int, size_t)>& value) {
  Ints all;
  for (size_t p = 0; p < parts; ++p) {
    for (size_t i = 0; i < count; ++i) all.push_back(value(static_cast<int>(p), i));
  }
  return all;
}

void check_symmetric(Communicator& group, size_t count) {
  const auto n = static_cast<size_t>(group.size());
  const int me = group.rank(), size = group.size();
  const Ints mine = made(1, count, [&](int, size_t i) { return element(me, i); });
  const auto sum_of = [&](size_t i, int to) {
    int32_t sum = 0;
    for (int r = 0; r < size; ++r) sum += element(r, i, to);
    return sum;
  };
  Ints out(count), whole(n * count);
  expect_done(group.allreduce(mine, out).wait(kPatience));
  EXPECT_EQ(out, made(1, count, [&](int, size_t i) { return sum_of(i, 0); }));
  out = mine;
  expect_done(group.allreduce(out, RedOp::kMax).wait(kPatience));
  EXPECT_EQ(out, made(1, count, [&](int, size_t i) { return element(size - 1, i); }));

  const Ints gathered = made(n, count, [](int p, size_t i) { return element(p, i); });
  expect_done(group.allgather(mine, whole).wait(kPatience));
  EXPECT_EQ(whole, gathered);
  whole.assign(n * count, -1);
  const auto own = std::span(whole).subspan(static_cast<size_t>(me) * count, count);
  std::copy(mine.begin(), mine.end(), own.begin());
  expect_done(group.allgather(own, whole).wait(kPatience));  // in place
  EXPECT_EQ(whole, gathered);

  const Ints parts = made(n, count, [&](int p, size_t i) { return element(me, i, p); });
  const Ints scattered = made(1, count, [&](int, size_t i) { return sum_of(i, me); });
  expect_done(group.reduce_scatter(parts, out).wait(kPatience));
  EXPECT_EQ(out, scattered);
  whole = parts;
  expect_done(group.reduce_scatter(whole, own).wait(kPatience));  // in place
  EXPECT_EQ(Ints(own.begin(), own.end()), scattered);

  const Ints swapped = made(n, count, [&](int p, size_t i) { return element(p, i, me); });
  expect_done(group.alltoall(parts, whole).wait(kPatience));
  EXPECT_EQ(whole, swapped);
  whole = parts;
  expect_done(group.alltoall(whole, whole).wait(kPatience));
  EXPECT_EQ(whole, swapped);
  expect_done(group.barrier().wait(kPatience));
}

void check_rooted(Communicator& group, size_t count, int root) {
  const auto n = static_cast<size_t>(group.size());
  const int me = group.rank();
  const bool is_root = me == root;
  const Ints mine = made(1, count, [&](int, size_t i) { return element(me, i); });
  Ints data = mine;
  expect_done(group.broadcast(data, root).wait(kPatience));
  EXPECT_EQ(data, made(1, count, [&](int, size_t i) { return element(root, i); }));

  Ints out(is_root ? count : 0), whole(is_root ? n * count : 0);
  expect_done(group.reduce(mine, out, root, RedOp::kMin).wait(kPatience));
  if (is_root) {
    EXPECT_EQ(out, made(1, count, [](int, size_t i) { return element(0, i); }));
  }
  data = mine;  // in place
  expect_done(group.reduce(data, is_root ? Buffer(data) : Buffer(), root, RedOp::kMin).wait());
  EXPECT_EQ(data, is_root ? out : mine);

  expect_done(group.gather(mine, whole, root).wait(kPatience));
  if (is_root) {
    EXPECT_EQ(whole, made(n, count, [](int p, size_t i) { return element(p, i); }));
  }
  data.assign(count, -1);
  expect_done(group.scatter(whole, data, root).wait(kPatience));
  EXPECT_EQ(data, mine);
}

TEST(Communicator, OneToNineRanksRunAllOperations) {
  test::RowShare share;
  for (const Way& way : kWays) {
    for (int size = 1; size <= kMostTestRanks; ++size) {
      SCOPED_TRACE(std::string(way.name) + ", ranks: " + std::to_string(size));
      std::vector<Communicator> ranks = way.open(size);
      ASSERT_EQ(ranks.size(), static_cast<size_t>(size));
      std::vector<size_t> counts;
      for (const size_t count : {0u, 1u, 7u, 20'000u}) {
        if (share.runs(way.name + std::to_string(size))) counts.push_back(count);
      }
      in_threads(ranks, [&](Communicator& group) {
        for (const size_t count : counts) {
          check_symmetric(group, count);
          check_rooted(group, count, static_cast<int>(count) % group.size());
        }
        EXPECT_FALSE(group.failure());
      });
    }
  }
}

TEST(Communicator, EveryTypeOfElements) {
  std::vector<Communicator> ranks = in_memory(2);
  in_threads(ranks, [](Communicator& group) {
    std::array<double, 2> doubles = {1.5, static_cast<double>(group.rank())};
    std::vector<int64_t> longs = {int64_t{1} << 40};
    std::vector<uint8_t> bytes = {100, 1};
    std::vector<uint16_t> halves = {0x3f80, 0x4000};  // 1 and 2 as bfloat16
    float one[] = {static_cast<float>(group.rank())};
    expect_done(group.allreduce(doubles).wait());
    expect_done(group.allreduce(std::span(longs)).wait());
    expect_done(group.allreduce(bytes).wait());
    expect_done(group.allreduce({halves.data(), halves.size(), DType::kBf16}).wait());
    expect_done(group.allreduce(one, RedOp::kAvg).wait());
    std::array<bool, 3> some = {true, false, group.rank() == 1}, all = some;
    expect_done(group.allreduce(some).wait());
    expect_done(group.allreduce(all, RedOp::kProduct).wait());
    EXPECT_EQ(some, (std::array<bool, 3>{true, false, true}));
    EXPECT_EQ(all, (std::array<bool, 3>{true, false, false}));
    EXPECT_EQ(doubles, (std::array<double, 2>{3.0, 1.0}));
    EXPECT_EQ(longs[0], int64_t{1} << 41);
    EXPECT_EQ(bytes, (std::vector<uint8_t>{200, 2}));
    EXPECT_EQ(halves, (std::vector<uint16_t>{0x4000, 0x4080}));
    EXPECT_EQ(one[0], 0.5f);
  });
}

TEST(Communicator, SeveralOperationsAreUnderWayAtOnce) {
  for (const Way& way : kWays) {
    std::vector<Communicator> ranks = way.open(3);
    in_threads(ranks, [](Communicator& group) {
      std::vector<Ints> arrays(8, Ints(1000, 1));
      std::vector<Work> works;
      for (Ints& array : arrays) works.push_back(group.allreduce(array));
      expect_done(works.back().wait(kPatience));  // in any order
      for (Work& work : works) {
        const Deadline deadline = Deadline::after_ms(20'000);
        ErrorOr<bool> done = work.test();
        while (done && !*done && !deadline.passed()) done = work.test();
        EXPECT_TRUE(done && *done);
        expect_done(work.wait(kPatience));  // once more does no harm
      }
      for (const Ints& array : arrays) EXPECT_EQ(array, Ints(1000, 3));
    });
  }
}

// ---- what a user may do wrong ------------------------------------------------------------------

TEST(Communicator, WrongCallsAreErrorsThatStartNothing) {
  std::vector<Communicator> ranks = in_memory(3);
  in_threads(ranks, [](Communicator& group) {
    Ints four(4), five(5);
    std::vector<float> floats(4);
    const auto refused = [](Work work) {
      const Done done = work.wait(kPatience);
      EXPECT_FALSE(done);
      return done ? Error() : done.error();
    };
    const Error sizes = refused(group.allgather(four, five));
    EXPECT_EQ(sizes.code, ErrorCode::kUsage);
    EXPECT_THAT(sizes.message(), AllOf(HasSubstr("out has 5 elements i32"), HasSubstr("out 12")));
    EXPECT_THAT(refused(group.allreduce(four, floats)).message(), HasSubstr("elements f32"));
    EXPECT_EQ(refused(group.alltoall(five, five)).code, ErrorCode::kUsage);
    EXPECT_THAT(refused(group.broadcast(four, 3)).message(), HasSubstr("use 0 to 2"));
    EXPECT_EQ(refused(group.reduce(four, five, group.rank())).code, ErrorCode::kUsage);
    std::array<bool, 4> flags = {true};
    std::array<bool, 12> parts = {true};
    for (const Error& average : {refused(group.allreduce(flags, RedOp::kAvg)),
                                 refused(group.reduce(flags, flags, 0, RedOp::kAvg)),
                                 refused(group.reduce_scatter(parts, flags, RedOp::kAvg)),
                                 refused(group.allreduce_coalesced({flags, parts}, RedOp::kAvg)),
                                 refused(group.allreduce_coalesced(
                                     {Buffer(flags.data(), 0, DType::kBool)}, RedOp::kAvg))}) {
      EXPECT_EQ(average.code, ErrorCode::kUnsupported);
      EXPECT_THAT(average.message(), HasSubstr("avg of bool means nothing; use sum or max"));
    }
    expect_done(group.allreduce(four).wait(kPatience));
    EXPECT_FALSE(group.failure());
  });
}

TEST(Communicator, AWorkOfOneThatIsGoneSaysSo) {
  std::vector<Communicator> ranks = in_memory(1);
  Work work = ranks[0].barrier();
  ranks.clear();
  EXPECT_THAT(work.wait(kPatience).error().message(), HasSubstr("is gone"));
  EXPECT_EQ(work.test().error().code, ErrorCode::kUsage);
}

// connect() of one rank alone, which must fail.
Error alone(const Options& options, int rank = 0, int size = 1) {
  const auto exchange = [](const std::string& mine) -> ErrorOr<std::vector<std::string>> {
    return std::vector<std::string>{mine};
  };
  const ErrorOr<Communicator> group = Communicator::connect(rank, size, exchange, options);
  EXPECT_FALSE(group);
  return group ? Error() : group.error();
}

TEST(Communicator, WrongOptionsAreNamed) {
  const auto with = [](const char* name, const char* value) {
    Options options;
    options.settings[name] = value;
    return options;
  };
  EXPECT_THAT(alone(with("sock_bufsiz", "1Mi")).message(), HasSubstr("did you mean sock_bufsize"));
  EXPECT_THAT(alone(with("mesh", "some")).message(), HasSubstr("mesh = 'some': not accepted"));
  EXPECT_THAT(alone(with("ssh_config", "x")).message(), HasSubstr("no meaning in the library"));
  EXPECT_THAT(alone(with("transport", "pigeon")).message(), HasSubstr("pigeon"));
  EXPECT_THAT(alone(with("kernel", "abacus")).message(), HasSubstr("abacus"));
  EXPECT_EQ(alone(with("transport", "memory")).code, ErrorCode::kUnsupported);
  Options options;
  options.addresses = {"not an address"};
  EXPECT_THAT(alone(options).message(), HasSubstr("not an address"));
  options.addresses.clear();
  EXPECT_EQ(alone(options).code, ErrorCode::kConfig);
  EXPECT_THAT(alone({}, 1, 1).message(), HasSubstr("rank 1 of 1"));
  EXPECT_THAT(alone({}, 0, 0).message(), HasSubstr("rank 0 of 0"));
  EXPECT_THAT(alone({}, 0, 2).message(), HasSubstr("1 endpoints for 2 ranks"));
  const auto none = local_ranks(0);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("of 0 ranks"));
}

TEST(Communicator, ThePageForUsersHasEverySetting) {
  Options options;
  options.settings["ssh_config"] = "x";
  const std::string hint = alone(options).hint;  // "its settings are chunk_bytes ..."
  std::ifstream page(test::source_dir() + "/docs/library.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::istringstream words(hint.substr(hint.find(" are ") + 5));
  int count = 0;
  for (std::string name; words >> name; ++count) {
    EXPECT_THAT(text, HasSubstr("`" + name + "`"));
  }
  EXPECT_EQ(count, 23);
}

// It is asked for by name here: no rank knows how many cores the machines of the others have.
TEST(Communicator, AProgressThreadWritesLargeArrays) {
  Options options;
  options.settings["progress_thread"] = "on";
  std::vector<Communicator> ranks = ranks_over("tcp", 3, options);
  in_threads(ranks, [](Communicator& rank) {
    std::vector<float> values(1'000'000, static_cast<float>(rank.rank() + 1));
    expect_done(rank.allreduce(std::span(values)).wait());
    EXPECT_EQ(std::count(values.begin(), values.end(), 6.0F), 1'000'000);
  });
}

TEST(Communicator, EndpointsThatAreNotOursAreRefused) {
  const auto exchange = [](const std::string& mine) -> ErrorOr<std::vector<std::string>> {
    return std::vector<std::string>{mine, "127.0.0.1:80"};
  };
  const auto spoilt = Communicator::connect(0, 2, exchange);
  ASSERT_FALSE(spoilt);
  EXPECT_EQ(spoilt.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(spoilt.error().message(), HasSubstr("rank 1"));
  EXPECT_EQ(spoilt.error().ranks, std::vector<int>{1});

  const auto broken = [](const std::string&) -> ErrorOr<std::vector<std::string>> {
    return Error{ErrorCode::kUnreachable, "the store is away", 0, {}, {}};
  };
  const auto failed = Communicator::connect(0, 2, broken);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the store is away");
}

TEST(Communicator, RanksThatDoNotAgreeFormNoGroup) {
  const Outcomes options = connect_all(2, [](int rank, Options& mine) {
    mine.settings["chunk_bytes"] = rank == 0 ? "64Ki" : "128Ki";
    mine.settings["connect_timeout_ms"] = "5s";
  });
  for (const auto& outcome : options) {
    ASSERT_FALSE(*outcome);
    EXPECT_THAT(outcome->error().message(), HasSubstr("chunk_bytes"));
  }
  const Outcomes secrets = connect_all(2, [](int rank, Options& mine) {
    mine.secret = rank == 0 ? "melon" : "apple";
    mine.settings["connect_timeout_ms"] = "1s";
  });
  for (const auto& outcome : secrets) EXPECT_FALSE(*outcome);
}

// ---- what may be lost --------------------------------------------------------------------------

TEST(Communicator, ALostRankIsNamedInTime) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    std::vector<Communicator> ranks = way.open(3);
    ASSERT_EQ(ranks.size(), 3u);
    in_threads(ranks, [](Communicator& group) { expect_done(group.barrier().wait(kPatience)); });
    ranks.pop_back();
    const Deadline deadline = Deadline::after_ms(10'000);
    in_threads(ranks, [](Communicator& group) {
      Ints data(100'000);
      const Done done = group.allreduce(data).wait(5s);
      ASSERT_FALSE(done);
      EXPECT_THAT(done.error().message(), HasSubstr("rank 2"));
      ASSERT_TRUE(group.failure());
      EXPECT_EQ(group.allreduce(data).wait(5s).error().message(), done.error().message());
    });
    EXPECT_FALSE(deadline.passed());
  }
}

TEST(Communicator, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    std::vector<Communicator> ranks = way.open(3);
    ASSERT_EQ(ranks.size(), 3u);
    std::latch together(2);  // one that starts late would be missed as well
    in_threads(ranks, [&together](Communicator& group) {
      if (group.rank() == 1) return;  // it lives, but never starts the operation
      Ints data(10);
      together.arrive_and_wait();
      const Done done = group.allreduce(data).wait(2s);
      ASSERT_FALSE(done);
      EXPECT_THAT(done.error().code, AnyOf(ErrorCode::kTimeout, ErrorCode::kAborted));
      EXPECT_THAT(done.error().message(), HasSubstr("rank 1 is not in any operation"));
    });
  }
}

TEST(Communicator, OperationsThatDifferAreNamed) {
  std::vector<Communicator> ranks = in_memory(2);
  std::mutex mutex;
  std::string said;
  in_threads(ranks, [&](Communicator& group) {
    Ints data(10);
    Work work = group.rank() == 0 ? group.allreduce(data) : group.broadcast(data, 0);
    static_cast<void>(work.wait(5s));
    const Done next = group.barrier().wait(5s);
    ASSERT_FALSE(next);
    const std::scoped_lock lock(mutex);
    said += next.error().message();
  });
  EXPECT_THAT(said, AllOf(HasSubstr("allreduce"), HasSubstr("broadcast")));
}

TEST(Communicator, AbortReachesAllRanks) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    std::vector<Communicator> ranks = way.open(2);
    ASSERT_EQ(ranks.size(), 2u);
    std::thread other([&] {
      std::this_thread::sleep_for(50ms);
      ranks[1].abort("the training was stopped");
    });
    Ints data(10);
    const Done done = ranks[0].allreduce(data).wait(kPatience);
    other.join();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(),
                AllOf(HasSubstr("rank 1"), HasSubstr("the training was stopped")));
    EXPECT_THAT(ranks[1].barrier().wait(kPatience).error().message(), HasSubstr("was stopped"));
  }
}

TEST(Communicator, WhatItSaysGoesToTheCallback) {
  std::mutex mutex;
  std::string said;
  testing::internal::CaptureStderr();
  {
    const Outcomes outcomes = connect_all(2, [&](int, Options& options) {
      options.host = "lemon";
      options.log_level = LogLevel::kInfo;
      options.log = [&](LogLevel, std::string_view text) {
        const std::scoped_lock lock(mutex);
        said += std::string(text) + "\n";
      };
    });
    for (const auto& outcome : outcomes) EXPECT_TRUE(*outcome);
  }
  EXPECT_THAT(said, HasSubstr("control connection with rank 1 on lemon"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Communicator, TheLibraryKnowsItsVersion) {
  EXPECT_STREQ(library_version(), PLUMBLINE_VERSION);
}

}  // namespace
}  // namespace plumbline
