#include <gtest/gtest.h>
#include <poll.h>

#include "launch/process.h"

namespace plumbline {
namespace {

TEST(Lease, EndsWhenNothingWasHeard) {
  constexpr int kLeaseMs = 60;
  Lease lease(kLeaseMs);
  EXPECT_FALSE(lease.over());
  EXPECT_LE(lease.poll_timeout_ms(10'000), kLeaseMs);
  poll(nullptr, 0, kLeaseMs + 10);
  EXPECT_TRUE(lease.over());
  EXPECT_EQ(lease.poll_timeout_ms(10'000), 0);
  lease.heard();
  EXPECT_FALSE(lease.over());
}

TEST(Lease, OfZeroNeverEnds) {
  Lease lease(0);
  lease.heard();
  EXPECT_FALSE(lease.over());
  EXPECT_EQ(lease.poll_timeout_ms(10'000), 10'000);
}

}  // namespace
}  // namespace plumbline
