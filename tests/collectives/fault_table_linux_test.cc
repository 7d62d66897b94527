// Faults and transports, each with each: what happens to one rank or its bytes, what all others say
// of it, and within which time. A new transport needs no line here, a new fault is one row.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/number.h"
#include "tests/support/collective_case.h"
#include "tests/support/process_reads_linux.h"
#include "tests/support/rank_lives_linux.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kFaultRanks = 3, kVictim = 1;
constexpr int kOperations = 12, kStrikesAt = 5;  // one that is neither the first nor the last
constexpr int64_t kWatchdogMs = 1000, kHeartbeatMs = 200;
// Where nothing fails: less than a slow reader sleeps in all, except where everything is slow.
constexpr int64_t kPatientWatchdogMs = test::kSanitized ? 10'000 : 1500;
constexpr int64_t kBlameMs = 1000;  // the walk from rank to rank
// For what is seen at once; a machine that is busy otherwise gets some time for everything.
constexpr int64_t kAtOnceMs = 500;
constexpr int64_t kSlackMs = test::kSanitized ? 8000 : 2500;

enum class Does { kNothing, kDies, kStops, kStaysAway, kIsSlow };

// Auto over two machines: the victim shares memory with rank 0 and has a connection to rank 2.
constexpr const char* kMixed = "mixed";
// Shared memory and an operation whose messages, of arrays that no group has allocated, are all
// read out of the other rank's process.
constexpr const char* kReading = "reading";

struct FaultRow {
  const char* name;
  Does does;           // the victim, when it has started an operation
  const char* stream;  // the option `fault`
  bool crc;
  // What is in the error of every other rank; nullptr = nothing fails.
  const char* says;
  int64_t within_ms;       // of the last operation that was fine
  const char* no_threads;  // why ranks that are threads are spared; nullptr = they are not

  friend void PrintTo(const FaultRow& row, std::ostream* out) { *out << row.name; }  // NOLINT
};

constexpr FaultRow kFaults[] = {
    {"killed", Does::kDies, "", false, "rank 1", kAtOnceMs, nullptr},
    {"stopped", Does::kStops, "", false, "rank 1 ", kWatchdogMs + 2 * kHeartbeatMs + kBlameMs,
     "the threads of a process are stopped together"},
    {"stays away", Does::kStaysAway, "", false, "rank 1 is not in any operation",
     kWatchdogMs + kBlameMs, nullptr},
    {"slow reader", Does::kIsSlow, "", false, nullptr, 0, nullptr},
    {"flipped bit", Does::kNothing, "flip:rank=1,peer=2,after=300000", true,
     "frame from rank 1: checksum", kAtOnceMs, nullptr},
    {"connection that ends", Does::kNothing, "close:rank=1,peer=2,after=300000", false, "rank 1",
     kAtOnceMs, nullptr},
    {"link that goes dead", Does::kNothing, "stall:rank=1,peer=2,after=300000", false,
     "waits for rank 1", kWatchdogMs + kBlameMs, nullptr},
    {"a few bytes at a time", Does::kNothing, "short:rank=1,bytes=199", false, nullptr, 0, nullptr},
};

int64_t watchdog_ms_of(const FaultRow& fault) {
  return fault.says == nullptr ? kPatientWatchdogMs : kWatchdogMs;
}

// The victim has started an operation. false = it lives no longer.
bool strike(Does does, bool threads, std::unique_ptr<Group>& group) {
  switch (does) {
    case Does::kNothing:
      return true;
    case Does::kDies:
      if (!threads) ::raise(SIGKILL);
      group.reset();
      return false;
    case Does::kStops:
      ::raise(SIGSTOP);
      return false;
    case Does::kStaysAway:
      for (const Deadline end = Deadline::after_ms(kWatchdogMs + kBlameMs + kSlackMs);
           !group->control().failed() && !end.passed();) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      return false;
    case Does::kIsSlow:
      std::this_thread::sleep_for(std::chrono::milliseconds(kWatchdogMs / 4));
      return true;
  }
  return true;
}

// "MS ERROR", the time since its last operation that was fine; empty = all were.
std::string run_into(const FaultRow& fault, bool threads, bool reading, int rank,
                     std::unique_ptr<Group> group) {
  OperationSpec spec;
  if (reading) spec.op = Op::kAllgather;
  spec.algorithm = "ring";
  spec.count = reading ? 512 * 1024 / sizeof(float) : 40'000;
  std::optional<Executor> executor(std::in_place, *group, test_kernels());
  auto plan = executor->prepare(spec);
  if (!plan) return "0 " + plan.error().message();
  Operand operand(spec, rank, kFaultRanks, 1);
  int64_t fine_ns = monotonic_ns();
  for (uint32_t i = 0; i < kOperations; ++i) {
    operand.fill(0, i);
    const bool strikes = rank == kVictim && i >= kStrikesAt;
    if (strikes && fault.does == Does::kStaysAway) {
      strike(fault.does, threads, group);
      return {};
    }
    Status done = executor->start(**plan, operand.in(0), operand.out(0));
    if (done && strikes) {
      static_cast<void>(executor->progress());
      if (threads && fault.does == Does::kDies) {
        plan->reset();
        executor.reset();
      }
      if (!strike(fault.does, threads, group)) return {};
    }
    if (done) done = executor->wait(**plan, Deadline::after_ms(watchdog_ms_of(fault)));
    if (!done) {
      const int64_t ms = (monotonic_ns() - fine_ns) / kMillisecond;
      return std::to_string(ms) + " " + done.error().message();
    }
    if (operand.count_wrong(0, i) != 0) return "0 wrong elements";
    fine_ns = monotonic_ns();
  }
  const bool may_read = reading && std::string_view(fault.stream).empty() && !fault.crc;
  if (may_read && group->stats().direct_received == 0) return "0 nothing was read";
  return {};
}

std::vector<std::string> files_left() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    const std::string name = entry.path().filename().string();
    if (name.find("plumbline") != std::string::npos) names.push_back(name);
  }
  return names;
}

class FaultTable : public testing::TestWithParam<std::tuple<FaultRow, std::string>> {};

TEST_P(FaultTable, AreBlamedOnTheRightRankInTime) {
  // No structured binding: clang 14 captures none.
  const FaultRow& fault = std::get<0>(GetParam());
  const std::string& name = std::get<1>(GetParam());
  const bool mixed = name == kMixed;
  const TransportRow& row = **(mixed              ? find_transport("auto", false)
                               : name == kReading ? find_transport("shm", false)
                                                  : find_transport(name, true));
  const bool threads = !test::are_processes(row);
  if (threads && fault.no_threads != nullptr) GTEST_SKIP() << name << ": " << fault.no_threads;
  if (name == kReading) {
    if (const std::string why = test::no_process_reads(); !why.empty()) GTEST_SKIP() << why;
  }
  OpenedWorld world;
  if (mixed) world.heard = on_machines({0, 0, 1});
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"watchdog_timeout_ms", std::to_string(watchdog_ms_of(fault))},
           {"heartbeat_interval_ms", std::to_string(kHeartbeatMs)},
           {"fault", fault.stream},
           {"transport_crc", fault.crc ? "1" : "0"}}) {
    world.options = *world.options.with(key, value, "test");
  }
  const int victim = fault.does == Does::kNothing || fault.does == Does::kIsSlow ? -1 : kVictim;
  const std::vector<std::string> left = test::let_live(
      row, kFaultRanks, world, victim,
      [&](int rank, std::unique_ptr<Group> group) {
        return run_into(fault, threads, name == kReading, rank, std::move(group));
      },
      Deadline::after_ms(fault.within_ms + 10 * kSlackMs));
  for (int rank = 0; rank < kFaultRanks; ++rank) {
    const std::string& text = left[static_cast<size_t>(rank)];
    if (fault.says == nullptr) {
      EXPECT_EQ(text, "") << "rank " << rank;
      continue;
    }
    if (rank == kVictim) continue;
    EXPECT_THAT(text, HasSubstr(fault.says)) << "rank " << rank;
    const auto ms = leading_whole<int64_t>(text);
    ASSERT_TRUE(ms) << text;
    EXPECT_LE(*ms, fault.within_ms + kSlackMs) << "rank " << rank << ": " << text;
  }
  EXPECT_THAT(files_left(), IsEmpty());
}

std::vector<std::string> transport_names() {
  std::vector<std::string> names;
  for (const TransportRow& row : transport_table()) names.emplace_back(row.name);
  names.emplace_back(kMixed);
  names.emplace_back(kReading);
  return names;
}

std::string fault_test_name(const testing::TestParamInfo<std::tuple<FaultRow, std::string>>& info) {
  std::string name = std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, FaultTable,
                         testing::Combine(testing::ValuesIn(kFaults),
                                          testing::ValuesIn(transport_names())),
                         fault_test_name);

}  // namespace
}  // namespace plumbline
