// How connections begin and end, and whose they are.
#include <gmock/gmock.h>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Tcp syn(uint32_t seq = 999) { return {.flags = kS, .seq = seq}; }
Tcp syn_ack() { return {.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 1000}; }

TEST(TraceHandshake, Complete) {
  const TraceFlow flow = established().flow();
  EXPECT_EQ(flow.handshake, "complete");
  EXPECT_EQ(flow.a_ip, "10.0.0.1");
  EXPECT_EQ(flow.a_port, 4000);
  EXPECT_EQ(flow.b_port, 80);
  EXPECT_EQ(flow.answer_ns, 200'000);
  EXPECT_EQ(flow.a.mss, 1460);
  EXPECT_EQ(flow.a.window_scale, 2);
  EXPECT_TRUE(flow.b.sack_permitted);
  EXPECT_EQ(flow.a.max_window, 4000);  // 1000, scaled
  EXPECT_EQ(flow.ended, "open");
  EXPECT_THAT(flow.problems, IsEmpty());
  EXPECT_EQ(flow.a.rtt.samples, 1);
  EXPECT_EQ(flow.a.rtt.max_ns, 200'000);
  EXPECT_EQ(flow.b.rtt.max_ns, 100'000);
}

TEST(TraceHandshake, NoAnswerCountsEverySyn) {
  BuiltCapture file;
  for (const int64_t second : {0, 1, 3, 7}) file.add(second * 1'000'000, syn());
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.handshake, "no_answer");
  EXPECT_EQ(flow.a.syn, 4);
  EXPECT_EQ(flow.a.retransmissions, 3);
  EXPECT_EQ(flow.a.retransmissions_timeout, 3);
  EXPECT_EQ(flow.answer_ns, 0);
  EXPECT_THAT(flow.problems, Contains("10.0.0.1 sent SYN 4 times within 7 s; nothing came back"));
}

TEST(TraceHandshake, RefusedIsNotNoAnswer) {
  const TraceFlow flow =
      BuiltCapture().add(0, syn()).add(50, {.from_a = false, .flags = kR | kA, .ack = 1000}).flow();
  EXPECT_EQ(flow.handshake, "refused");
  EXPECT_EQ(flow.ended, "rst by b");
  EXPECT_EQ(flow.answer_ns, 50'000);
  EXPECT_EQ(flow.b.rst, 1);
}

TEST(TraceHandshake, HalfOpenUntilTheThirdPacket) {
  BuiltCapture file;
  file.add(0, syn()).add(100, syn_ack()).add(1'000'100, syn_ack());
  EXPECT_EQ(file.flow().handshake, "half_open");
  EXPECT_EQ(file.flow().b.syn_ack, 2);
  file.add(1'000'200, {.seq = 1000, .ack = 5000});
  EXPECT_EQ(file.flow().handshake, "complete");
}

TEST(TraceHandshake, ResetOfTheAnswerIsHalfOpen) {
  BuiltCapture file;
  file.add(0, syn()).add(100, syn_ack()).add(200, {.flags = kR, .seq = 1000});
  EXPECT_EQ(file.flow().handshake, "half_open");
  EXPECT_EQ(file.flow().ended, "rst by a");
}

TEST(TraceHandshake, IcmpAnswers) {
  const ByteString error = icmp_error(3, 13, ip_packet(syn()));
  const TraceFlow flow =
      BuiltCapture().add(0, syn()).add_frame(70, ethernet(ip4(1, false, error))).flow();
  EXPECT_EQ(flow.handshake, "icmp");
  EXPECT_EQ(flow.answer_ns, 70'000);
  ASSERT_EQ(flow.icmp.size(), 1U);
  EXPECT_EQ(flow.icmp[0].from, "10.0.0.2");
  EXPECT_EQ(flow.icmp[0].text, "administratively prohibited");
  EXPECT_TRUE(flow.icmp[0].about_a);
}

TEST(TraceHandshake, AnErrorThatIsNoRefusalDoesNotAnswer) {
  const ByteString error = icmp_error(3, 4, ip_packet(syn()), 1400);
  const TraceFlow flow =
      BuiltCapture().add(0, syn()).add_frame(70, ethernet(ip4(1, false, error))).flow();
  EXPECT_EQ(flow.handshake, "no_answer");
  EXPECT_EQ(flow.icmp.at(0).text, "fragmentation needed, MTU 1400");
}

TEST(TraceHandshake, ErrorsFindIpv6Flows) {
  Tcp first = syn();
  first.v6 = true;
  const ByteString error = icmp_error(1, 4, ip_packet(first), 0, 48);
  BuiltCapture file;
  file.add(0, first).add_frame(10, ethernet(ip6(58, false, error), 0x86dd));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a_ip, "fd00::1");
  EXPECT_EQ(flow.handshake, "icmp");
  EXPECT_EQ(flow.icmp.at(0).text, "port unreachable");
}

TEST(TraceHandshake, AnErrorAboutAnUnseenFlowMakesOne) {
  const ByteString error = icmp_error(3, 3, ip4(17, true, udp(true, 20)));
  const TraceFlow flow = BuiltCapture().add_frame(0, ethernet(ip4(1, false, error))).flow();
  EXPECT_EQ(flow.protocol, "udp");
  EXPECT_EQ(flow.a_port, 4000);
  EXPECT_EQ(flow.a.packets, 0);
  EXPECT_EQ(flow.icmp.size(), 1U);
}

TEST(TraceHandshake, BeginsInTheMiddle) {
  const TraceFlow flow = BuiltCapture().add(0, data(1000, 100)).add(10, ack(1100)).flow();
  EXPECT_EQ(flow.handshake, "unseen");
  EXPECT_THAT(flow.problems, IsEmpty());
}

TEST(TraceHandshake, WhoeverIsAnsweredIsA) {
  const TraceFlow flow = BuiltCapture().add(0, syn_ack()).flow();
  EXPECT_EQ(flow.a_ip, "10.0.0.1");
  EXPECT_EQ(flow.b.syn_ack, 1);
}

TEST(TraceHandshake, OnlyOneDirectionSeen) {
  const TraceFlow flow = BuiltCapture().add(0, syn()).add(200, data(1000, 10)).flow();
  EXPECT_EQ(flow.handshake, "complete");
  EXPECT_THAT(flow.problems, Contains(HasSubstr("only packets from 10.0.0.1 were seen")));
}

TEST(TraceHandshake, SimultaneousOpen) {
  BuiltCapture file;
  file.add(0, syn()).add(5, {.from_a = false, .flags = kS, .seq = 4999});
  EXPECT_EQ(file.flow().handshake, "half_open");
  file.add(100, {.flags = kS | kA, .seq = 999, .ack = 5000});
  file.add(105, syn_ack());
  file.add(200, {.seq = 1000, .ack = 5000});
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.handshake, "complete");
  EXPECT_EQ(flow.a.syn, 1);
  EXPECT_EQ(flow.b.syn, 1);
}

TEST(TraceHandshake, ANewSynOnOldPortsIsANewFlow) {
  BuiltCapture file = established();
  file.add(1000, {.from_a = false, .flags = kR | kA, .seq = 5000, .ack = 1000});
  file.add(2000, syn(70'000));
  const TraceSummary summary = file.analyse();
  ASSERT_EQ(summary.flows.size(), 2U);
  EXPECT_EQ(summary.flows[0].handshake, "complete");
  EXPECT_EQ(summary.flows[0].ended, "rst by b");
  EXPECT_EQ(summary.flows[1].handshake, "no_answer");
  EXPECT_EQ(summary.flows[1].a.syn, 1);
}

TEST(TraceHandshake, TheSameSynIsTheSameFlow) {
  BuiltCapture file = established();
  file.add(1000, syn());
  EXPECT_EQ(file.flow().a.syn, 2);
}

TEST(TraceHandshake, ASynFromTheOtherSideOfAFinishedFlowIsANewFlow) {
  BuiltCapture file = established();
  file.add(1000, {.from_a = false, .flags = kS, .seq = 123456});
  const TraceSummary summary = file.analyse();
  ASSERT_EQ(summary.flows.size(), 2U);
  EXPECT_EQ(summary.flows[1].a_ip, "10.0.0.2");
}

TEST(TraceHandshake, EndsWithFinOfBoth) {
  BuiltCapture file = established();
  file.add(1000, {.flags = kF | kA, .seq = 1000, .ack = 5000});
  EXPECT_EQ(file.flow().ended, "open");
  file.add(1100, {.from_a = false, .flags = kF | kA, .seq = 5000, .ack = 1001});
  file.add(1200, {.flags = kA, .seq = 1001, .ack = 5001});
  EXPECT_EQ(file.flow().ended, "fin");
  file.add(1300, {.flags = kR, .seq = 1001});
  EXPECT_EQ(file.flow().ended, "fin");
  EXPECT_THAT(file.flow().problems, IsEmpty());
}

TEST(TraceHandshake, ResetInTheMiddleNamesWho) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100));
  file.add(1200, {.flags = kR | kA, .seq = 1100, .ack = 5000});
  EXPECT_EQ(file.flow().ended, "rst by a");
  EXPECT_THAT(file.flow().problems, Contains("10.0.0.1 reset the connection"));
}

TEST(TraceHandshake, AnOlderConnectionsAcknowledgementIsNoHandshake) {
  const TraceFlow flow =
      BuiltCapture().add(0, syn()).add(50, {.from_a = false, .seq = 77, .ack = 88}).flow();
  EXPECT_EQ(flow.handshake, "no_answer");
  EXPECT_THAT(flow.problems, Contains(HasSubstr("older connection")));
}

TEST(TraceHandshake, EchoRequestsWithoutReply) {
  BuiltCapture file;
  for (int i = 0; i < 3; ++i)
    file.add_frame(i, ethernet(ip4(1, true, {8, 0, 0, static_cast<uint8_t>(i), 0, 0, 0, 0})));
  file.add_frame(9, ethernet(ip4(1, false, {0, 0, 0, 0, 0, 0, 0, 0})));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.protocol, "icmp");
  EXPECT_EQ(flow.handshake, "none");
  EXPECT_THAT(flow.problems, Contains("2 of 3 echo requests got no reply"));
}

}  // namespace
}  // namespace plumbline
