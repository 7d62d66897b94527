#include "probes/actions/ping.h"

#include <gmock/gmock.h>

#include "actions/support.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

TEST(PingEcho, Loopback) {
  const PairEnds ends = make_ends("127.0.0.3", "127.0.0.1", "", 0).value();
  const PingEvidence out = ping(ends, {4, 5, 1000, 56}, test::call_within(10'000));
  if (!out.unavailable.empty()) GTEST_SKIP() << out.unavailable;
  EXPECT_EQ(out.sent, 4);
  EXPECT_EQ(out.received, 4);
  EXPECT_EQ(out.duplicates, 0);
  EXPECT_EQ(out.rtt_ns.size(), 4u);
  EXPECT_TRUE(out.errors.empty());
}

TEST(PingEcho, OverIpv6) {
  const PairEnds ends = make_ends("", "::1", "", 0).value();
  const PingEvidence out = ping(ends, {3, 5, 1000, 1000}, test::call_within(10'000));
  if (!out.unavailable.empty()) GTEST_SKIP() << out.unavailable;
  EXPECT_EQ(out.received, 3);
}

TEST(PingEcho, KeepsItsTime) {
  // TEST-NET-1: nobody answers, or nothing leads there.
  const PairEnds ends = make_ends("127.0.0.1", "127.255.255.254", "", 0).value();
  const int64_t begin = monotonic_ns();
  ping(ends, {1000, 1000, 1000, 56}, test::call_within(300));
  EXPECT_LT(monotonic_ns() - begin, 2 * kSecond);
}

TEST(PingOutput, OfIputils) {
  const PingEvidence out = parse_ping(
      "PING 10.10.0.2 (10.10.0.2) from 10.10.0.1 : 56(84) bytes of data.\n"
      "64 bytes from 10.10.0.2: icmp_seq=1 ttl=64 time=0.045 ms\n"
      "64 bytes from 10.10.0.2: icmp_seq=1 ttl=64 time=0.060 ms (DUP!)\n"
      "From 10.10.0.254 icmp_seq=2 Destination Host Unreachable\n"
      "From 10.10.0.254 icmp_seq=3 Destination Host Unreachable\n"
      "\n--- 10.10.0.2 ping statistics ---\n"
      "3 packets transmitted, 1 received, +1 duplicates, +2 errors, 66% packet loss, time "
      "2003ms\n");
  EXPECT_EQ(out.sent, 3);
  EXPECT_EQ(out.received, 1);
  EXPECT_EQ(out.duplicates, 1);
  EXPECT_THAT(out.rtt_ns, ElementsAre(45'000));
  EXPECT_THAT(out.errors, ElementsAre("from 10.10.0.254: Destination Host Unreachable"));
}

TEST(PingOutput, OfMacos) {
  const PingEvidence out = parse_ping(
      "PING 10.10.0.2 (10.10.0.2): 56 data bytes\n"
      "64 bytes from 10.10.0.2: icmp_seq=0 ttl=64 time=0.301 ms\n"
      "92 bytes from 10.10.0.254: Communication prohibited by filter\n"
      "Request timeout for icmp_seq 1\n"
      "2 packets transmitted, 1 packets received, 50.0% packet loss\n");
  EXPECT_EQ(out.sent, 2);
  EXPECT_EQ(out.received, 1);
  EXPECT_THAT(out.errors, ElementsAre("from 10.10.0.254: Communication prohibited by filter"));
}

TEST(PingOutput, HostileTextDoesNoHarm) {
  std::string flood;
  for (int i = 0; i < 5000; ++i) {
    flood += "From x" + std::to_string(i) + " y\n64 bytes from z: time=1 ms\n";
  }
  const PingEvidence out = parse_ping(flood);
  EXPECT_LE(out.errors.size(), 16u);
  EXPECT_LE(out.rtt_ns.size(), 1000u);
  EXPECT_EQ(parse_ping("").sent, 0);
  EXPECT_EQ(parse_ping("From \ntime=\ntime=-5 ms\ntime=1e99\n\x80\xff from : time=x").received, 0);
  EXPECT_EQ(parse_ping("x packets transmitted").sent, 0);
}

}  // namespace
}  // namespace plumbline
