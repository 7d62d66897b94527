// Captures of several hosts of one run: which flows run between the two that captured.
#include <gmock/gmock.h>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

// A packet from 10.0.0.`from` to 10.0.0.`to`; who begins has port 4000, the other one 80.
ByteString between(uint8_t from, uint8_t to, bool beginner, int flags, uint32_t seq,
                   uint32_t ack = 0, int payload = 0) {
  ByteString out =
      ip_packet({.from_a = beginner, .flags = flags, .seq = seq, .ack = ack, .payload = payload});
  out[15] = from;
  out[19] = to;
  return out;
}

// What the hosts 10.0.0.1 to .4 of one link capture, each what it sends and receives.
struct Hosts {
  explicit Hosts(bool tell_directions) : cooked_files(tell_directions) {
    for (int i = 0; i < 5; ++i) at.emplace_back(tell_directions ? 276 : 1);
  }
  void packet(int64_t at_us, uint8_t from, uint8_t to, const ByteString& ip, bool arrives = true) {
    const auto frame = [&](int direction) {
      return cooked_files ? cooked(ip, 2, direction) : ethernet(ip);
    };
    at[from].add_frame(at_us, frame(4));
    if (arrives) at[to].add_frame(at_us + 20, frame(0));
  }
  void connection(int64_t at_us, uint8_t a, uint8_t b) {
    packet(at_us, a, b, between(a, b, true, kS, 999));
    packet(at_us + 100, b, a, between(b, a, false, kS | kA, 4999, 1000));
    packet(at_us + 200, a, b, between(a, b, true, kA, 1000, 5000));
    packet(at_us + 300, a, b, between(a, b, true, kA, 1000, 5000, 100));
    packet(at_us + 400, b, a, between(b, a, false, kA, 5000, 1100));
  }
  // Something that nobody understands is in every capture: all of them still run.
  void all_run_until(int64_t at_us) {
    for (BuiltCapture& capture : at) {
      capture.add_frame(at_us,
                        cooked_files ? cooked(ByteString{0x45}, 2, 0) : ethernet(ByteString{0x45}));
    }
  }
  Expected<TraceComparison> compare(const std::vector<std::string>& first_ips = {}) const {
    return compare_traces(at[1].bytes(), at[2].bytes(), first_ips);
  }

  bool cooked_files;
  std::vector<BuiltCapture> at;  // by host
};

class ThreeHosts : public testing::TestWithParam<bool> {
 protected:
  // 1 and 2 speak with each other and with 3; all is well.
  Hosts hosts() const {
    Hosts hosts(GetParam());
    hosts.connection(0, 1, 2);
    hosts.connection(10'000, 3, 1);
    hosts.connection(20'000, 1, 3);
    hosts.connection(30'000, 3, 2);
    return hosts;
  }
};
INSTANTIATE_TEST_SUITE_P(WithAndWithoutDirections, ThreeHosts, testing::Bool());

TEST_P(ThreeHosts, FlowsWithAThirdHostAreCountedAndNotJudged) {
  const auto both = hosts().compare();
  ASSERT_TRUE(both);
  ASSERT_EQ(both->flows.size(), 1U);
  EXPECT_EQ(both->flows[0].here.b_ip, "10.0.0.2");
  EXPECT_TRUE(both->flows[0].here_is_a);
  EXPECT_EQ(both->flows[0].told_by, GetParam() ? "direction" : "flows");
  EXPECT_EQ(both->other_flows, 3);
  const std::string text = compare_text(*both, 0);
  EXPECT_THAT(text, Not(HasSubstr("10.0.0.3")));
  EXPECT_THAT(text, Not(HasSubstr("!")));
  EXPECT_THAT(text, HasSubstr("3 flows with other hosts not compared"));
}

TEST_P(ThreeHosts, PacketsThatVanishBetweenTheTwoAreStillFound) {
  Hosts hosts = this->hosts();
  for (int64_t i = 0; i < 3; ++i) {  // only the first trace has this connection
    ByteString syn = between(1, 2, true, kS, 77);
    syn[21] = 0x99;  // another port
    hosts.packet(1'000'000 * (i + 1), 1, 2, syn, false);
  }
  hosts.all_run_until(4'000'000);
  const auto both = hosts.compare();
  ASSERT_TRUE(both);
  ASSERT_EQ(both->flows.size(), 2U);
  EXPECT_EQ(both->flows[1].a_to_b.where, "between the hosts");
  EXPECT_EQ(both->flows[1].a_to_b.arrived, 0);
  EXPECT_TRUE(both->flows[1].here_is_a);
  EXPECT_EQ(both->other_flows, 3);
}

TEST_P(ThreeHosts, AVanishedConnectionOfTheSecondHostIsItsOwn) {
  Hosts hosts = this->hosts();
  ByteString syn = between(2, 1, true, kS, 77);
  for (int64_t i = 0; i < 3; ++i) hosts.packet(1'000'000 * (i + 1), 2, 1, syn, false);
  hosts.all_run_until(4'000'000);
  const auto both = hosts.compare();
  ASSERT_EQ(both->flows.size(), 2U);
  EXPECT_FALSE(both->flows[1].here_is_a);
  EXPECT_EQ(both->flows[1].a_to_b.where, "between the hosts");
}

TEST_P(ThreeHosts, TheGivenAddressOverridesTheFiles) {
  const auto both = hosts().compare({"10.0.0.2"});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->flows.size(), 1U);
  EXPECT_FALSE(both->flows[0].here_is_a);
  EXPECT_EQ(both->flows[0].told_by, "addresses");
}

TEST_P(ThreeHosts, AGivenAddressOfNeitherTraceIsAMistake) {
  for (const char* address : {"10.0.0.9", "node1", ""}) {
    const auto both = hosts().compare({address});
    ASSERT_FALSE(both) << address;
    EXPECT_EQ(both.error().code, ErrorCode::kUsage);
    EXPECT_THAT(both.error().message(), HasSubstr("10.0.0.1, 10.0.0.2, 10.0.0.3")) << address;
  }
}

TEST_P(ThreeHosts, AFileThatOnlyHasTheirFlowsIsOfTheOtherHost) {
  Hosts hosts(GetParam());
  hosts.connection(0, 1, 2);
  hosts.connection(10'000, 3, 1);
  const auto both = hosts.compare();
  ASSERT_EQ(both->flows.size(), 1U);
  EXPECT_TRUE(both->flows[0].here_is_a);
  EXPECT_EQ(both->other_flows, 1);
}

TEST(CapturePlace, TwoCapturesOfOneHostAreNotCompared) {
  Hosts hosts(true);
  hosts.connection(0, 1, 2);
  hosts.connection(10'000, 3, 1);
  const auto both = compare_traces(hosts.at[1].bytes(), hosts.at[1].bytes());
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->flows.empty());
  EXPECT_EQ(both->other_flows, 2);
}

// 10.0.0.1 is 10.0.1.1, too, and 10.0.0.2 is 10.0.1.2.
TEST(CapturePlace, AHostWithTwoNetworksHasTwoAddresses) {
  for (const bool directions : {false, true}) {
    Hosts hosts(directions);
    hosts.connection(0, 1, 2);
    hosts.connection(10'000, 1, 3);
    hosts.connection(20'000, 3, 2);
    const auto on_second = [&](int64_t at_us, uint8_t from, uint8_t to, int flags, bool arrives) {
      ByteString ip = between(from, to, from < to, flags, 77, 0, 0);
      ip[14] = ip[18] = 1;
      hosts.packet(at_us, from, to, ip, arrives);
    };
    on_second(30'000, 1, 3, kS, true);
    on_second(40'000, 2, 3, kS, true);
    on_second(50'000, 2, 4, kS, true);
    for (int64_t i = 0; i < 3; ++i) on_second(1'000'000 * (i + 1), 1, 2, kS, false);
    hosts.all_run_until(4'000'000);
    const auto both = hosts.compare();
    ASSERT_TRUE(both);
    ASSERT_EQ(both->flows.size(), 2U) << directions;
    EXPECT_EQ(both->flows[1].here.a_ip, "10.0.1.1");
    EXPECT_EQ(both->flows[1].a_to_b.where, "between the hosts");
    EXPECT_EQ(both->other_flows, 5);
  }
}

// The second file has one flow of 10.0.1.x: nothing tells which of its ends captured it.
TEST(CapturePlace, WhatCouldBeEitherHostIsNotJudged) {
  Hosts hosts(false);
  hosts.connection(0, 1, 2);
  hosts.connection(10'000, 1, 3);
  hosts.connection(20'000, 3, 2);
  for (const uint8_t from : {1, 2}) {
    ByteString syn = between(from, 3, true, kS, 77);
    syn[14] = syn[18] = 1;
    hosts.packet(30'000, from, 3, syn);
  }
  const auto both = hosts.compare();
  ASSERT_TRUE(both);
  EXPECT_EQ(both->flows.size(), 1U);
  EXPECT_EQ(both->other_flows, 4);
}

// The datagrams with which doctor makes a system look for its neighbour.
ByteString datagram(int to_port, int type, int code, bool error) {
  ByteString out;
  put16(out, 4000);
  put16(out, static_cast<uint32_t>(to_port));
  put16(out, 12);
  put16(out, 0);
  const ByteString sent = ip4(17, true, out + ByteString(4, 'x'));
  return ethernet(error ? ip4(1, false, icmp_error(type, code, sent)) : sent);
}

TraceSummary answered(int to_port, int type, int code) {
  BuiltCapture file;
  file.add_frame(0, datagram(to_port, type, code, false));
  file.add_frame(100, datagram(to_port, type, code, true));
  return file.analyse();
}

TEST(DiscardPort, ThatNobodyListensThereIsARemark) {
  const TraceSummary summary = answered(9, 3, 3);
  ASSERT_EQ(summary.flows.size(), 1U);
  EXPECT_THAT(summary.flows[0].problems, testing::IsEmpty());
  EXPECT_EQ(summary.flows[0].icmp.size(), 1U);
  const std::string text = trace_text(summary, 0);
  EXPECT_THAT(text, HasSubstr("    ICMP from 10.0.0.2: port unreachable, as usual"));
  EXPECT_THAT(text, HasSubstr("1 flow, 0 with problems"));
}

TEST(DiscardPort, OtherErrorsAndOtherPortsAreProblems) {
  for (const TraceSummary& summary : {answered(9, 3, 13), answered(10, 3, 3)}) {
    ASSERT_EQ(summary.flows.size(), 1U);
    EXPECT_EQ(summary.flows[0].problems.size(), 1U);
    EXPECT_THAT(trace_text(summary, 0), Not(HasSubstr("as usual")));
  }
}

}  // namespace
}  // namespace plumbline
