// Collectives over shared memory as on a system where it has no names (MemoryWay::kHanded): ranks
// that are processes take messages out of each other's arrays, and of those that are killed no
// file and no memory stays.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/support/collective_case.h"
#include "tests/support/handed_row_linux.h"
#include "tests/support/rank_lives_linux.h"
#include "tests/support/row_share.h"
#include "tests/support/sanitized.h"
#include "transport/shm/handover.h"

namespace plumbline {
namespace {

constexpr uint32_t kHandedSeed = 20261127;

// Where two ranks of this machine are about to meet, or should have.
std::set<std::string> meeting_places() {
  std::set<std::string> names;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(handover_directory(), gone)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("plumbline-") && entry.is_socket(gone)) names.insert(name);
  }
  return names;
}

// Those of other tests go away by themselves.
bool nothing_stays(const std::set<std::string>& before) {
  for (const Deadline deadline = Deadline::after_ms(10'000); !deadline.passed();) {
    std::set<std::string> now = meeting_places();
    std::erase_if(now, [&](const std::string& name) { return before.count(name) > 0; });
    if (now.empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(HandedRanks, AllPairsOfTheMatrix) {
  const CollectiveMatrix matrix(4);
  const auto valid = [&](const CoveringRow& row) { return matrix.valid(row); };
  const std::vector<CoveringRow> rows = covering_array(matrix.axes(), kHandedSeed, valid);
  const std::set<std::string> before = meeting_places();
  std::vector<std::unique_ptr<OpenedWorld>> opened;  // they outlive the groups
  const auto open = [&](int ranks, const WireShape& wire) {
    opened.push_back(std::make_unique<OpenedWorld>());
    opened.back()->options = with_wire(opened.back()->options, wire);
    std::string wrong;
    World world = open_all(test::handed_row(), ranks, *opened.back(), wrong);
    EXPECT_EQ(wrong, "");
    return world;
  };
  EXPECT_EQ(run_matrix(matrix, test::rows_to_run(rows, 0), open, kHandedSeed), "");
  EXPECT_TRUE(nothing_stays(before));
}

// Every algorithm; arrays are made and given up all the time, as the results are verified.
TEST(HandedRanks, EveryAlgorithmIsRightBetweenProcesses) {
  const std::set<std::string> before = meeting_places();
  for (const int ranks : {2, 3, 4}) {
    OpenedWorld world;
    world.options = *world.options.with("direct_bytes", "1", "test");
    const auto life = [ranks](int rank, std::unique_ptr<Group> group) -> std::string {
      Executor executor(*group, test_kernels());
      uint32_t seed = 0;
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        for (const uint64_t count : {uint64_t{7}, uint64_t{70'001}}) {
          OperationSpec spec;
          spec.op = algorithm.op;
          spec.algorithm = algorithm.name;
          spec.count = spec.op == Op::kBarrier ? 0 : count;
          spec.in_place = allows_in_place(spec.op) && seed % 2 == 0;
          ScheduleRequest request;
          request.op = spec.op;
          request.size = ranks;
          request.count = spec.count;
          if (ranks < row(spec.op).min_ranks || !find_algorithm(spec.algorithm, request)) continue;
          const std::string wrong = run_verified(executor, spec, rank, ranks, ++seed, group.get());
          if (!wrong.empty()) return spec.text(ranks, algorithm.name) + ": " + wrong;
        }
      }
      const ChannelStats stats = group->stats();
      if (stats.direct_received == stats.payload_received) return "";
      return std::to_string(stats.direct_received) + " of " +
             std::to_string(stats.payload_received) + " bytes were taken from others' memory";
    };
    const std::vector<std::string> left =
        test::let_live(test::handed_row(), ranks, world, -1, life,
                       Deadline::after_ms(test::kSanitized ? 240'000 : 60'000));
    for (const std::string& text : left) EXPECT_EQ(text, "") << ranks << " ranks";
  }
  EXPECT_TRUE(nothing_stays(before));
}

// In the midst of it: the others find out, and hold nothing of the one (let_live looks).
TEST(HandedRanks, AKilledRankLeavesNothing) {
  const std::set<std::string> before = meeting_places();
  constexpr int kRanks = 3, kVictim = 1;
  OpenedWorld world;
  world.options = *world.options.with("direct_bytes", "1", "test");
  const auto life = [](int rank, std::unique_ptr<Group> group) -> std::string {
    Executor executor(*group, test_kernels());
    OperationSpec spec;
    spec.count = 200'003;
    spec.in_place = true;
    for (int i = 0; i < 1000; ++i) {
      if (rank == kVictim && i == 5) ::raise(SIGKILL);
      const std::string wrong = run_verified(executor, spec, rank, kRanks, 1, group.get());
      if (!wrong.empty()) return i >= 4 ? "it ended" : wrong;
    }
    return "it never ended";
  };
  const std::vector<std::string> left =
      test::let_live(test::handed_row(), kRanks, world, kVictim, life, Deadline::after_ms(60'000));
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank != kVictim) {
      EXPECT_EQ(left[static_cast<size_t>(rank)], "it ended") << rank;
    }
  }
  EXPECT_TRUE(nothing_stays(before));
}

}  // namespace
}  // namespace plumbline
