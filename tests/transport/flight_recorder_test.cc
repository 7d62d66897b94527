// The flight recorder, read while it is written to.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/support/sanitized.h"
#include "transport/control/blame.h"

namespace plumbline {
namespace {

TEST(FlightRecorder, KeepsTheLastOperationsNewestLast) {
  FlightRecorder recorder;
  EXPECT_TRUE(recorder.entries().empty());
  EXPECT_EQ(recorder.status(3).sequence, 0u);
  for (uint32_t i = 1; i <= 40; ++i) {
    recorder.begin_operation(i, 7, "op " + std::to_string(i));
    if (i != 40) recorder.end_operation(i);
  }
  const std::vector<FlightEntry> entries = recorder.entries();
  ASSERT_EQ(entries.size(), 32u);
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].sequence, 9 + i);
    EXPECT_EQ(entries[i].operation, "op " + std::to_string(9 + i));
    EXPECT_EQ(entries[i].finished, i + 1 < entries.size());
  }
  recorder.waiting(2, 5, 0);
  const RankStatus status = recorder.status(3);
  EXPECT_EQ(status.rank, 3);
  EXPECT_EQ(status.operation, "op 40");
  EXPECT_TRUE(status.in_operation);
  EXPECT_EQ(status.waiting_for, 2);
  EXPECT_EQ(status.step, 5u);
  EXPECT_GT(status.since_progress_ns, 0);
  recorder.end_operation(40);
  EXPECT_FALSE(recorder.status(3).in_operation);
}

TEST(FlightRecorder, OperationsThatNobodyEndedAreForgottenInTheirTurn) {
  FlightRecorder recorder;
  for (uint32_t i = 1; i <= 100; ++i) recorder.begin_operation(i, 1, "op");
  for (uint32_t i = 1; i <= 100; ++i) recorder.end_operation(i);
  EXPECT_FALSE(recorder.status(0).in_operation);
}

// Numbers and texts belong together, whenever they are read.
TEST(FlightRecorder, WhatIsReadIsOfOneMoment) {
  FlightRecorder recorder;
  const uint32_t operations = test::kSanitized ? 20'000 : 200'000;
  std::atomic<bool> over{false};
  std::thread rank([&] {
    const std::string texts[] = {"zero", "one", "two"};
    for (uint32_t i = 1; i <= operations; ++i) {
      // The same for a while, then others: with and without new texts in the slots.
      const uint32_t kind = i / 64 % 3;
      recorder.begin_operation(i, kind, texts[kind]);
      recorder.waiting(static_cast<int>(i % 1000), i, 1);
      recorder.end_operation(i);
    }
    over = true;
  });
  size_t reads = 0;
  while (!over || reads == 0) {
    const std::vector<FlightEntry> entries = recorder.entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      const FlightEntry& entry = entries[i];
      ASSERT_EQ(entry.sequence, entries.front().sequence + i);
      ASSERT_EQ(entry.op_hash, entry.sequence / 64 % 3);
      ASSERT_EQ(entry.operation.size(), entry.op_hash == 0 ? 4u : 3u);
      ASSERT_TRUE(entry.finished || i + 1 == entries.size());
    }
    const RankStatus status = recorder.status(0);
    if (status.waiting_for >= 0) {
      ASSERT_TRUE(status.in_operation);
      ASSERT_EQ(status.step, status.sequence);
      ASSERT_EQ(static_cast<uint32_t>(status.waiting_for), status.step % 1000);
    }
    ++reads;
  }
  rank.join();
}

}  // namespace
}  // namespace plumbline
