// Two captures of one connection: where packets vanish.
#include <gmock/gmock.h>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

// The same packets at both ends: b's capture sees a's packets `hops` later, and the reverse.
struct Ends {
  BuiltCapture a, b;
  int hops = 1;

  enum Fate { kArrives, kLost };
  Ends& send(int64_t at_us, Tcp tcp, Fate fate = kArrives) {
    tcp.ttl = 64;
    (tcp.from_a ? a : b).add(at_us, tcp);
    if (fate == kLost) return *this;
    tcp.ttl = 64 - hops;
    (tcp.from_a ? b : a).add(at_us + 50, tcp);
    return *this;
  }
  Ends& handshake() {
    send(0, {.flags = kS, .seq = 999});
    send(100, {.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 1000});
    return send(200, {.seq = 1000, .ack = 5000});
  }
  // An echo request that arrives: both captures still run then.
  Ends& ping(int64_t at_us) {
    ByteString echo = {8, 0};
    put16(echo, static_cast<uint32_t>(at_us >> 8));  // a checksum
    put32(echo, static_cast<uint32_t>(at_us));
    a.add_frame(at_us, ethernet(ip4(1, true, echo)));
    b.add_frame(at_us + 50, ethernet(ip4(1, true, echo, 0, 64 - hops)));
    return *this;
  }
  TraceComparison both() const {
    const auto both = compare_traces(a.bytes(), b.bytes());
    if (!both) {
      ADD_FAILURE() << both.error().message();
      return {};
    }
    return *both;
  }
  TracePairFlow compare(const std::vector<std::string>& first_ips = {}) const {
    const auto pairs = compare_traces(a.bytes(), b.bytes(), first_ips);
    if (!pairs || pairs->flows.size() != 1) {
      ADD_FAILURE() << (pairs ? "not one flow" : pairs.error().message());
      return {};
    }
    return pairs->flows.front();
  }
};

TEST(TraceCompare, NothingIsLost) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100)).send(1100, ack(1100));
  const TracePairFlow pair = ends.compare();
  EXPECT_TRUE(pair.here_is_a);
  EXPECT_EQ(pair.told_by, "hops");
  EXPECT_EQ(pair.a_to_b.left, 2);  // SYN and data
  EXPECT_EQ(pair.a_to_b.arrived, 2);
  EXPECT_EQ(pair.a_to_b.where, "nowhere");
  EXPECT_EQ(pair.b_to_a.left, 1);
  EXPECT_EQ(pair.b_to_a.where, "nowhere");
  EXPECT_TRUE(pair.a_to_b.seen_at_both);
}

TEST(TraceCompare, SynsLostBetween) {
  Ends ends;
  ends.ping(0);
  for (int64_t i = 0; i < 3; ++i) ends.send(i * 1'000'000, {.flags = kS, .seq = 999}, Ends::kLost);
  ends.ping(3'000'000);
  const TracePairFlow pair = ends.compare();
  EXPECT_TRUE(pair.here_is_a);
  EXPECT_FALSE(pair.a_to_b.seen_at_both);
  EXPECT_EQ(pair.a_to_b.left, 1);
  EXPECT_EQ(pair.a_to_b.arrived, 0);
  EXPECT_EQ(pair.a_to_b.where, "between the hosts");
  EXPECT_EQ(pair.b_to_a.where, "nowhere");
}

TEST(TraceCompare, SynsArriveAndNobodyAnswers) {
  Ends ends;
  for (int64_t i = 0; i < 3; ++i) ends.send(i * 1'000'000, {.flags = kS, .seq = 999});
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.where, "behind the receiver's wire");
  EXPECT_EQ(pair.b_to_a.where, "before the sender's wire");
}

TEST(TraceCompare, TheAnswerIsLostBetween) {
  Ends ends;
  for (int64_t i = 0; i < 3; ++i) {
    ends.send(i * 1'000'000, {.flags = kS, .seq = 999});
    ends.send(i * 1'000'000 + 100, {.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 1000},
              Ends::kLost);
  }
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.where, "nowhere");
  EXPECT_EQ(pair.b_to_a.where, "between the hosts");
  EXPECT_EQ(pair.b_to_a.left, 1);
  EXPECT_EQ(pair.b_to_a.arrived, 0);
}

TEST(TraceCompare, ALostPacketThatIsSentAgainIsStillLoss) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100), Ends::kLost).send(301'000, data(1000, 100));
  ends.send(301'200, ack(1100));
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.left, pair.a_to_b.arrived);
  EXPECT_EQ(pair.a_to_b.bytes_left, 201);
  EXPECT_EQ(pair.a_to_b.bytes_arrived, 101);
  EXPECT_EQ(pair.a_to_b.where, "between the hosts");
}

TEST(TraceCompare, LargePacketsLostSmallOnesArrive) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100)).send(1100, ack(1100));
  for (int64_t i = 0; i < 3; ++i) ends.send(2000 + i * 300'000, data(1100, 1448), Ends::kLost);
  ends.send(900'000, ack(1100));
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.left, 3);
  EXPECT_EQ(pair.a_to_b.arrived, 2);
  EXPECT_EQ(pair.a_to_b.where, "between the hosts");
}

TEST(TraceCompare, PacketsInFlightAtTheEndAreNotLost) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100)).send(1100, ack(1100));
  ends.send(2000, data(1100, 100), Ends::kLost);
  EXPECT_EQ(ends.compare().a_to_b.where, "nowhere");
}

TEST(TraceCompare, DataArrivesAgainAndAgainAndIsIgnored) {
  Ends ends;
  ends.handshake();
  for (int64_t i = 0; i < 4; ++i) ends.send(1000 + i * 300'000, data(1000, 100));
  EXPECT_EQ(ends.compare().a_to_b.where, "behind the receiver's wire");
}

TEST(TraceCompare, SegmentsThatAreCutOnTheWayArrive) {
  Ends ends;
  ends.handshake();
  ends.a.add(1000, data(1000, 3000));
  for (uint32_t i = 0; i < 3; ++i) {
    Tcp piece = data(1000 + 1000 * i, 1000);
    piece.ttl = 63;
    ends.b.add(1050 + i, piece);
  }
  ends.send(1200, ack(4000));
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.left, 2);
  EXPECT_EQ(pair.a_to_b.arrived, 2);
  EXPECT_EQ(pair.a_to_b.where, "nowhere");
}

TEST(TraceCompare, WhatTheCaptureMissedButTheReceiverAcknowledgedArrived) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100), Ends::kLost).send(1200, ack(1100));
  EXPECT_EQ(ends.compare().a_to_b.arrived, 2);
  EXPECT_EQ(ends.compare().a_to_b.where, "nowhere");
}

TEST(TraceCompare, TheOrderOfTheFilesDoesNotMatter) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100), Ends::kLost).send(301'000, data(1000, 100));
  ends.send(301'200, ack(1100));
  const auto pairs = compare_traces(ends.b.bytes(), ends.a.bytes());
  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->flows.size(), 1U);
  EXPECT_FALSE(pairs->flows.front().here_is_a);
  EXPECT_EQ(pairs->flows.front().a_to_b.where, "between the hosts");
  EXPECT_EQ(pairs->flows.front().b_to_a.where, "nowhere");
}

TEST(TraceCompare, OneSubnetIsToldByTimes) {
  Ends ends;
  ends.hops = 0;
  ends.handshake().send(1000, data(1000, 100)).send(1100, ack(1100));
  EXPECT_TRUE(ends.compare().here_is_a);
  EXPECT_EQ(ends.compare().told_by, "times");
  const auto turned = compare_traces(ends.b.bytes(), ends.a.bytes());
  EXPECT_FALSE(turned->flows.front().here_is_a);
}

TEST(TraceCompare, GivenAddressesDecide) {
  Ends ends;
  ends.handshake();
  EXPECT_EQ(ends.compare({"10.0.0.2"}).told_by, "addresses");
  EXPECT_FALSE(ends.compare({"10.0.0.2"}).here_is_a);
  EXPECT_TRUE(ends.compare({"10.0.0.1"}).here_is_a);
}

TEST(TraceCompare, CookedCapturesTellDirections) {
  BuiltCapture at_a(276), at_b(276);
  const ByteString syn = ip_packet({.flags = kS, .seq = 999});
  at_a.add_frame(0, cooked(syn, 2, 4));
  at_b.add_frame(9, cooked(syn, 2, 0));
  const auto pairs = compare_traces(at_b.bytes(), at_a.bytes());
  ASSERT_EQ(pairs->flows.size(), 1U);
  EXPECT_EQ(pairs->flows.front().told_by, "direction");
  EXPECT_FALSE(pairs->flows.front().here_is_a);
}

TEST(TraceCompare, AMiddleThatIsSeenFromTheOtherSide) {
  // The second trace begins later: there, b is the first to send.
  BuiltCapture at_a = established(), at_b;
  at_a.add(1000, {.from_a = false, .seq = 5000, .ack = 1000, .payload = 10})
      .add(1100, data(1000, 20));
  at_b.add(900, {.from_a = false, .seq = 5000, .ack = 1000, .payload = 10})
      .add(1200, data(1000, 20));
  const auto pairs = compare_traces(at_a.bytes(), at_b.bytes(), {"10.0.0.1"});
  ASSERT_EQ(pairs->flows.size(), 1U);
  EXPECT_EQ(pairs->flows.front().there.a_ip, "10.0.0.1");
  EXPECT_EQ(pairs->flows.front().there.a.payload_bytes, 20);
  EXPECT_EQ(pairs->flows.front().b_to_a.left, 1);
  EXPECT_EQ(pairs->flows.front().b_to_a.arrived, 1);
  EXPECT_EQ(pairs->flows.front().a_to_b.left, 1);  // the SYN went before the second trace began
  EXPECT_EQ(pairs->flows.front().a_to_b.arrived, 1);
  EXPECT_EQ(pairs->flows.front().a_to_b.where, "nowhere");
}

TEST(TraceCompare, PortsThatAreUsedAgainAreOtherConnections) {
  Ends ends;
  ends.send(0, {.flags = kS, .seq = 999})
      .send(100, {.from_a = false, .flags = kR | kA, .ack = 1000});
  ends.send(5000, {.flags = kS, .seq = 70'000}, Ends::kLost).ping(2'000'000);
  const auto pairs = compare_traces(ends.a.bytes(), ends.b.bytes());
  ASSERT_EQ(pairs->flows.size(), 2U);
  EXPECT_EQ(pairs->flows[0].a_to_b.where, "nowhere");
  EXPECT_EQ(pairs->flows[1].a_to_b.where, "between the hosts");
}

TEST(TraceCompare, ForeignFlowsAreLeftOut) {
  Ends ends;
  ends.handshake();
  ByteString foreign = ip_packet({.flags = kS, .seq = 1, .a_port = 22});
  foreign[19] = 99;  // to 10.0.0.99
  ends.a.add_frame(9000, ethernet(foreign));
  EXPECT_EQ(compare_traces(ends.a.bytes(), ends.b.bytes())->flows.size(), 1U);
}

TEST(TraceCompare, UdpIsCounted) {
  BuiltCapture at_a, at_b;
  for (int i = 0; i < 5; ++i) {
    at_a.add_frame(i, ethernet(ip4(17, true, udp(true, 10), i + 1)));
    if (i != 2) at_b.add_frame(i, ethernet(ip4(17, true, udp(true, 10), i + 1, 63)));
  }
  const auto pairs = compare_traces(at_a.bytes(), at_b.bytes());
  ASSERT_EQ(pairs->flows.size(), 1U);
  EXPECT_EQ(pairs->flows.front().a_to_b.left, 5);
  EXPECT_EQ(pairs->flows.front().a_to_b.arrived, 4);
  EXPECT_EQ(pairs->flows.front().a_to_b.where, "between the hosts");
}

TEST(TraceCompare, NumbersThatWrapAndTracesThatBeginLater) {
  BuiltCapture at_a, at_b;
  at_a.add(0, {.seq = 0xffffff00, .ack = 5000, .payload = 100, .ttl = 64});
  for (uint32_t i = 0; i < 4; ++i) {
    at_a.add(100 + i, {.seq = 0xffffff64 + 100 * i, .ack = 5000, .payload = 100, .ttl = 64});
    if (i >= 2) {  // 0x2c and later: behind the wrap
      at_b.add(150 + i, {.seq = 0xffffff64 + 100 * i, .ack = 5000, .payload = 100, .ttl = 63});
    }
  }
  const auto pairs = compare_traces(at_a.bytes(), at_b.bytes());
  ASSERT_EQ(pairs->flows.size(), 1U);
  EXPECT_EQ(pairs->flows.front().a_to_b.left, 2);  // since the second trace began
  EXPECT_EQ(pairs->flows.front().a_to_b.arrived, 2);
}

// Nothing tells whether a file that ends earlier missed what it does not hold.
TEST(TraceCompare, WhatWasSentBehindTheEndOfTheOtherFileIsNotJudged) {
  Ends ends;
  ends.handshake().send(1000, data(1000, 100)).send(1100, ack(1100));
  for (int64_t i = 0; i < 3; ++i) ends.send(2000 + i * 300'000, data(1100, 1448), Ends::kLost);
  const TraceComparison both = ends.both();
  ASSERT_EQ(both.flows.size(), 1U);
  EXPECT_EQ(both.flows[0].a_to_b.where, "nowhere");
  EXPECT_EQ(both.flows[0].a_to_b.left_out, 3);
  EXPECT_EQ(both.overlap.first.after_packets, 4);  // and what was under way to it then
  EXPECT_EQ(both.overlap.second.after_packets, 0);
}

// The receiver's file lacks the repetitions that its own filter dropped, because it ends earlier.
TEST(TraceCompare, ReceiversOwnDropsAreNotBetweenTheHosts) {
  Ends ends;
  for (int64_t i = 0; i < 3; ++i)
    ends.send(i * 1'000'000, {.flags = kS, .seq = 999, .id = static_cast<int>(i + 1)});
  for (int64_t i = 3; i < 6; ++i) {
    ends.send(i * 1'000'000, {.flags = kS, .seq = 999, .id = static_cast<int>(i + 1)}, Ends::kLost);
  }
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.a_to_b.where, "behind the receiver's wire");
  EXPECT_EQ(pair.a_to_b.compared, 3);
  EXPECT_EQ(pair.a_to_b.left_out, 3);
}

// Only one direction is in both files, and the second began in the middle.
TEST(TraceCompare, PacketsOfOneFileOnlyTellItsHost) {
  Ends ends;
  ends.hops = 0;
  for (uint32_t i = 0; i < 6; ++i) {
    ends.send(1000 + i * 300'000, data(1000, 100), i == 0 ? Ends::kLost : Ends::kArrives);
    ends.send(2000 + i * 300'000, data(1100 + 100 * i, 100));
    if (i > 0 && i < 5) ends.send(3000 + i * 300'000, ack(1200 + 100 * i), Ends::kLost);
  }
  const TracePairFlow pair = ends.compare();
  EXPECT_EQ(pair.told_by, "presence");
  EXPECT_TRUE(pair.here_is_a);
}

// A file may claim any time; nothing overflows.
TEST(TraceCompare, ClocksThatAreCenturiesApart) {
  for (const int64_t apart : {int64_t{3'000'000'000}, int64_t{-900'000}}) {
    BuiltCapture at_a, at_b;
    for (uint32_t i = 0; i < 5; ++i) {
      const int64_t at_us = 1'000'000'000'000 + i * 1000;
      at_a.add(at_us, data(1000 + 100 * i, 100)).add(at_us + 400, ack(1100 + 100 * i));
      const int64_t other = at_us + apart * 1'000'000;
      at_b.add(other + 100, data(1000 + 100 * i, 100)).add(other + 200, ack(1100 + 100 * i));
    }
    const auto both = compare_traces(at_a.bytes(), at_b.bytes());
    ASSERT_EQ(both->flows.size(), 1U);
    EXPECT_EQ(both->flows[0].a_to_b.arrived, 5);
    EXPECT_EQ(both->flows[0].told_by, "times");
    EXPECT_NEAR(static_cast<double>(*both->overlap.clock_offset_ns),
                static_cast<double>(apart) * 1e9, 1e6);
  }
}

TEST(TraceCompare, ErrorsNameTheFile) {
  EXPECT_THAT(compare_trace_files("/proc/nonexistent/a", "/proc/nonexistent/b").error().what,
              HasSubstr("/proc/nonexistent/a"));
  EXPECT_FALSE(compare_traces("", ""));
  EXPECT_TRUE(compare_traces(BuiltCapture().bytes(), BuiltCapture().bytes())->flows.empty());
}

TEST(TraceCompare, TextFitsTheTerminal) {
  Ends ends;
  for (int64_t i = 0; i < 3; ++i) ends.send(i * 1'000'000, {.flags = kS, .seq = 999});
  const std::string text = compare_text(ends.both(), 80);
  EXPECT_THAT(text, HasSubstr("behind the\n      receiver's wire"));
  EXPECT_THAT(text, HasSubstr("first trace taken at 10.0.0.1"));
}

}  // namespace
}  // namespace plumbline
