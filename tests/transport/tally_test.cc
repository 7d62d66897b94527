// Loss, duplicates, reordering and jitter of numbered datagrams against hand-counted examples.
#include <gtest/gtest.h>

#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

// Arrivals in this order, sent and received 1 ms apart.
DatagramTally arrivals(const std::vector<uint64_t>& order, uint64_t most = 100) {
  DatagramTally tally(most);
  int64_t now = 5'000'000'000;
  for (const uint64_t sequence : order) {
    tally.add(sequence, static_cast<int64_t>(sequence) * 1'000'000, now += 1'000'000);
  }
  return tally;
}

TEST(DatagramTally, InOrderHasNothingToTell) {
  const DatagramTally tally = arrivals({0, 1, 2, 3, 4});
  EXPECT_EQ(tally.received(), 5u);
  EXPECT_EQ(tally.duplicates(), 0u);
  EXPECT_EQ(tally.reordered(), 0u);
  EXPECT_EQ(tally.jitter_ns(), 0.0);  // the clocks' offset of 5 s does not show
}

TEST(DatagramTally, GapsAreNoReordering) { EXPECT_EQ(arrivals({0, 3, 7, 9}).reordered(), 0u); }

// RFC 4737, section 3.4: 1 2 3 5 6 4 7: only the 4 came late.
TEST(DatagramTally, OneLateDatagramIsOneReordered) {
  EXPECT_EQ(arrivals({1, 2, 3, 5, 6, 4, 7}).reordered(), 1u);
  // A single one that is early makes all that it overtook late.
  EXPECT_EQ(arrivals({1, 5, 2, 3, 4, 6}).reordered(), 3u);
}

TEST(DatagramTally, DuplicatesCountOnceAndAreNotReordered) {
  const DatagramTally tally = arrivals({0, 1, 1, 2, 0, 3});
  EXPECT_EQ(tally.received(), 4u);
  EXPECT_EQ(tally.duplicates(), 2u);
  EXPECT_EQ(tally.reordered(), 0u);
}

TEST(DatagramTally, ForeignNumbersAreIgnored) {
  const DatagramTally tally = arrivals({0, 100, ~uint64_t{0}, 99}, 100);
  EXPECT_EQ(tally.received(), 2u);
  EXPECT_EQ(tally.reordered(), 0u);
}

// RFC 3550, section 6.4.1: J += (|D| - J) / 16.
TEST(DatagramTally, JitterFollowsTheFormula) {
  DatagramTally tally(10);
  EXPECT_FALSE(tally.jitter_ns());
  tally.add(0, 0, 1'000);
  EXPECT_FALSE(tally.jitter_ns());
  tally.add(1, 1'000, 2'160);  // 160 ns later than the first one's transit
  EXPECT_DOUBLE_EQ(*tally.jitter_ns(), 10.0);
  tally.add(2, 2'000, 3'160);  // the same transit
  EXPECT_DOUBLE_EQ(*tally.jitter_ns(), 10.0 - 10.0 / 16);
}

}  // namespace
}  // namespace plumbline
