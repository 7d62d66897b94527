// A mixed history on long-lived connections: random operations, sizes, types, roots, algorithms and
// groups, one after another, over every transport, each result verified. Nothing may stand still
// for a while (seen with another stack, whose send buffers the kernel had shrunk: 43 ms for each 64
// KiB), and neither memory nor descriptors may grow.
//   TEST_SOAK_SECONDS=600 build/tests/collectives/tests_collectives --gtest_filter='*MixedSoak*'
// is ten minutes in all; TEST_SOAK_SEED chooses another history.
#include <gmock/gmock.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/host/process_facts.h"
#include "core/number.h"
#include "tests/support/collective_case.h"
#include "tests/support/mixed_history.h"
#include "tests/support/opened_world.h"
#include "tests/support/sanitized.h"
#include "tests/support/stall_watch_linux.h"

namespace plumbline {
namespace {

constexpr int kMostSoakRanks = 8;
constexpr int64_t kMostStallNs = 50 * kMillisecond;
constexpr uint64_t kMostGrowth = 4 << 20;  // bytes of the process, over one world's life
constexpr int kStepsOfARound = 16, kWarmRounds = 4;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const auto value = parse_whole<uint64_t>(text);
  EXPECT_TRUE(value) << name << "=" << text << " is no number";
  return value.value_or(otherwise);
}

// Where all ranks meet between two rounds: the last one to come decides whether they go on.
class SoakMeeting {
 public:
  explicit SoakMeeting(int ranks) : ranks_(ranks) {}

  bool go_on(const std::function<bool()>& decide) {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++round_;
      goes_on_ = goes_on_ && decide();
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || broken_; });
    return goes_on_ && !broken_;
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  uint64_t round_ = 0;
  bool goes_on_ = true, broken_ = false;
};

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

// One world of ranks and its groups, alive from the first step to the last.
class SoakWorld {
 public:
  SoakWorld(const TransportRow& transport, const OptionSet& options, int ranks, uint64_t seed,
            int64_t for_ns)
      : ranks_(ranks),
        seed_(seed),
        for_ns_(for_ns),
        groups_(groups_of(ranks)),
        opened_(groups_.size()),
        meeting_(ranks) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      opened_[group].options = options;
      if (transport.name == std::string_view("auto")) opened_[group].heard = on_machines({0, 1});
      std::string wrong;
      worlds_.push_back(
          open_all(transport, static_cast<int>(groups_[group].size()), opened_[group], wrong));
      EXPECT_EQ(wrong, "");
      if (!wrong.empty()) throw std::runtime_error(wrong);
    }
  }

  // What went wrong; empty = nothing.
  std::string run(test::StallWatch& watch) {
    std::vector<std::string> said(static_cast<size_t>(ranks_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([&, rank] { said[static_cast<size_t>(rank)] = be(rank, watch); });
    }
    for (std::thread& thread : threads) thread.join();
    if (std::string wrong = first_of(said); !wrong.empty()) return wrong;
    if (test::kSanitized || memory_.size() < 2) return {};  // freed memory is kept for a while then
    // The first half is warm-up as well: a heap goes on to spread for a while.
    const uint64_t before = memory_[memory_.size() / 2], after = memory_.back();
    if (after <= before + kMostGrowth) return {};
    return "memory grew from " + std::to_string(before) + " to " + std::to_string(after) +
           " bytes in " + std::to_string(memory_.size()) + " rounds";
  }
  uint64_t operations() const { return operations_.load(); }

 private:
  // This rank's place in the groups that it belongs to.
  struct Seat {
    Group* group = nullptr;
    std::unique_ptr<Executor> executor;
  };

  std::string be(int rank, test::StallWatch& watch) {
    test::StallWatch::Rank watched(watch);
    std::vector<Seat> seats(groups_.size());
    for (size_t group = 0; group < groups_.size(); ++group) {
      const auto member = std::find(groups_[group].begin(), groups_[group].end(), rank);
      if (member == groups_[group].end()) continue;
      const auto place = static_cast<size_t>(member - groups_[group].begin());
      seats[group].group = worlds_[group][place].get();
      seats[group].executor = std::make_unique<Executor>(*seats[group].group, test_kernels());
    }
    std::string wrong = use_everything(seats, watched);
    History history(seed_, groups_);
    while (wrong.empty()) {
      for (int i = 0; i < kStepsOfARound && wrong.empty(); ++i) {
        wrong = do_step(history.next(), seats, watched);
      }
      if (wrong.empty() && !meeting_.go_on([this] { return look(); })) return {};
    }
    for (const Seat& seat : seats) {
      if (seat.group != nullptr) {
        seat.group->control().abort(Error{ErrorCode::kAborted, wrong, 0, "", ""});
      }
    }
    meeting_.give_up();
    return wrong;
  }

  // More than any ring holds between every two ranks, so that memory is touched that later steps
  // might be the first to touch.
  std::string use_everything(std::vector<Seat>& seats, test::StallWatch::Rank& watched) {
    HistoryStep step;
    step.spec.op = Op::kAlltoall;
    step.spec.dtype = DType::kU8;
    step.spec.count = 1'500'000;
    std::string wrong;
    for (; step.group < seats.size() && wrong.empty(); ++step.group) {
      wrong = do_step(step, seats, watched);
    }
    return wrong;
  }

  std::string do_step(const HistoryStep& step, std::vector<Seat>& seats,
                      test::StallWatch::Rank& watched) {
    const Seat& seat = seats[step.group];
    if (seat.group == nullptr) return {};
    const int ranks = seat.group->size();
    const std::string text = step.spec.text(ranks, step.spec.algorithm.c_str());
    watched.does(text);
    std::string wrong =
        run_verified(*seat.executor, step.spec, seat.group->rank(), ranks, step.seed);
    watched.does("");
    ++operations_;
    return wrong.empty() ? wrong : text + ": " + wrong;
  }

  // Of one rank while the others wait: how large is the process, and is the time over?
  bool look() {
    if (++rounds_ >= kWarmRounds) memory_.push_back(resident_bytes().value_or(0));
    if (rounds_ == kWarmRounds) descriptors_ = open_descriptors();
    if (rounds_ > kWarmRounds) {
      EXPECT_EQ(open_descriptors(), descriptors_);
    }
    return rounds_ <= kWarmRounds || monotonic_ns() - begun_ns_ < for_ns_;
  }

  const int ranks_;
  const uint64_t seed_;
  const int64_t for_ns_;
  const int64_t begun_ns_ = monotonic_ns();
  const std::vector<Members> groups_;
  std::vector<OpenedWorld> opened_;  // they outlive the groups
  std::vector<World> worlds_;        // by group
  SoakMeeting meeting_;
  std::atomic<uint64_t> operations_{0};
  // Of look() alone.
  int rounds_ = 0;
  size_t descriptors_ = 0;
  std::vector<uint64_t> memory_;
};

struct SoakCase {
  std::string name, transport, sock_bufsize;

  friend void PrintTo(const SoakCase& one, std::ostream* out) { *out << one.name; }  // NOLINT
};

// Every row of the table, what the kernel makes of buffers that are left to it, and ranks of two
// machines, of which those of one share memory.
std::vector<SoakCase> soak_cases() {
  std::vector<SoakCase> cases = {{"tcp_buffers_of_the_kernel", "tcp", "0"}, {"mixed", "auto", ""}};
  for (const TransportRow& row : transport_table()) cases.push_back({row.name, row.name, ""});
  return cases;
}

class MixedSoak : public testing::TestWithParam<SoakCase> {};

TEST_P(MixedSoak, IsRightWithoutStallsAndGrowth) {
  // What is freed goes back to the system, but for small blocks of one heap: what is left is kept.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 16 * 1024);
  constexpr uint64_t kShortSeconds = test::kSanitized ? 8 : 20, kSoakSeed = 20261125;
  const uint64_t seconds = setting("TEST_SOAK_SECONDS", kShortSeconds);
  const uint64_t seed = setting("TEST_SOAK_SEED", kSoakSeed);
  RecordProperty("seed", std::to_string(seed));
  const std::string& name = GetParam().transport;
  const TransportRow& transport = **find_transport(name, name != "auto");
  OptionSet options{transport_choices()};
  if (!GetParam().sock_bufsize.empty()) {
    options = *options.with("sock_bufsize", GetParam().sock_bufsize, "test");
  }
  const int64_t for_ns =
      static_cast<int64_t>(seconds) * kSecond / static_cast<int64_t>(soak_cases().size());
  const int64_t end = monotonic_ns() + for_ns;
  const size_t descriptors = open_descriptors();
  std::mt19937_64 random(seed);
  test::StallWatch watch;
  uint64_t operations = 0;
  std::vector<int> sizes;
  do {
    if (sizes.empty()) {
      for (int ranks = 2; ranks <= kMostSoakRanks; ++ranks) sizes.push_back(ranks);
      std::shuffle(sizes.begin(), sizes.end(), random);
    }
    const int ranks = sizes.back();
    sizes.pop_back();
    const uint64_t world_seed = random();
    SoakWorld world(transport, options, ranks, world_seed,
                    std::max(for_ns / (kMostSoakRanks - 1), kSecond));
    ASSERT_EQ(world.run(watch), "") << ranks << " ranks, seed " << seed;
    operations += world.operations();
  } while (monotonic_ns() < end);
  EXPECT_EQ(open_descriptors(), descriptors);
  const test::Stall stall = watch.longest();
  std::cout << GetParam().name << ": " << operations << " operations, longest standstill "
            << stall.ns / 1'000 << " us, seed " << seed << "\n";
  EXPECT_LE(stall.ns, kMostStallNs) << "in " << stall.during << ", seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Worlds, MixedSoak, testing::ValuesIn(soak_cases()),
                         [](const auto& row) { return row.param.name; });

// The proof that the above can fail: one rank waits for the other's bytes, which does nothing.
TEST(StallWatch, FindsRanksThatAllWait) {
  OpenedWorld opened;
  std::string wrong;
  World world = open_all(**find_transport("tcp", true), 2, opened, wrong);
  ASSERT_EQ(wrong, "");
  test::StallWatch watch;
  EXPECT_EQ(first_of(on_every_rank(world,
                                   [&](int rank, Group& group) {
                                     test::StallWatch::Rank watched(watch);
                                     Executor executor(group, test_kernels());
                                     watched.does("a slow allreduce");
                                     if (rank == 1)
                                       std::this_thread::sleep_for(
                                           std::chrono::nanoseconds(40 * kMostStallNs));
                                     OperationSpec spec;
                                     spec.count = 100;
                                     return run_verified(executor, spec, rank, 2, 1);
                                   })),
            "");
  EXPECT_GT(watch.longest().ns, kMostStallNs);
  EXPECT_EQ(watch.longest().during, "a slow allreduce");
}

// And that a busy one is not taken for a stalled one.
TEST(StallWatch, LeavesRanksAloneThatWork) {
  test::StallWatch watch;
  test::StallWatch::Rank rank(watch);
  rank.does("arithmetic");
  volatile uint64_t number = 1;
  for (const int64_t end = monotonic_ns() + 150 * kMillisecond; monotonic_ns() < end;) {
    number = number * 5 + 1;
  }
  EXPECT_LE(watch.longest().ns, kMostStallNs);
}

}  // namespace
}  // namespace plumbline
