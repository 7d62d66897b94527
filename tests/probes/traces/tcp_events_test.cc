// Each event of a TCP connection, with the nearest thing that is none.
#include <gmock/gmock.h>

#include "tests/probes/traces/packets.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(TraceTcp, InOrderDataHasNoEvents) {
  BuiltCapture file = established();
  for (uint32_t i = 0; i < 10; ++i) {
    file.add(1000 + 100 * i, data(1000 + 100 * i, 100)).add(1050 + 100 * i, ack(1100 + 100 * i));
  }
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.payload_bytes, 1000);
  EXPECT_EQ(flow.a.retransmissions + flow.a.out_of_order + flow.a.gaps, 0);
  EXPECT_EQ(flow.b.duplicate_acks, 0);
  EXPECT_EQ(flow.a.rtt.samples, 11);  // the SYN's, too
  EXPECT_EQ(flow.a.rtt.min_ns, 50'000);
  EXPECT_EQ(flow.a.max_acked_payload, 100);
  EXPECT_EQ(flow.a.unacked_bytes, 0);
}

TEST(TraceTcp, TimeoutAndKarnsRule) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(301'000, data(1000, 100)).add(301'100, ack(1100));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions, 1);
  EXPECT_EQ(flow.a.retransmissions_timeout, 1);
  EXPECT_EQ(flow.a.rtt.samples, 1);  // only the SYN: which of the two was acknowledged?
}

TEST(TraceTcp, FastAfterDuplicateAcknowledgements) {
  BuiltCapture file = established();
  for (uint32_t i = 0; i < 5; ++i) file.add(1000 + i, data(1000 + 100 * i, 100));
  for (int i = 0; i < 4; ++i) file.add(1200 + i, ack(1100));
  file.add(1300, data(1100, 100)).add(1500, ack(1500));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.b.duplicate_acks, 3);
  EXPECT_EQ(flow.a.retransmissions, 1);
  EXPECT_EQ(flow.a.retransmissions_fast, 1);
}

TEST(TraceTcp, LongAfterDuplicateAcknowledgementsIsATimeout) {
  BuiltCapture file = established();
  for (uint32_t i = 0; i < 5; ++i) file.add(1000 + i, data(1000 + 100 * i, 100));
  for (int i = 0; i < 4; ++i) file.add(1200 + i, ack(1100));
  file.add(250'000, data(1100, 100));
  EXPECT_EQ(file.flow().a.retransmissions_timeout, 1);
  EXPECT_EQ(file.flow().a.retransmissions_fast, 0);
}

TEST(TraceTcp, TheRestOfARecoveryHasTheSameCause) {
  BuiltCapture file = established();
  for (uint32_t i = 0; i < 6; ++i) file.add(1000 + i, data(1000 + 100 * i, 100));
  for (int i = 0; i < 4; ++i) file.add(1200 + i, ack(1100, sack_option({{1200, 1300}})));
  file.add(1300, data(1100, 100)).add(1400, ack(1300)).add(1500, data(1300, 100));
  EXPECT_EQ(file.flow().a.retransmissions_fast, 2);
}

TEST(TraceTcp, AcknowledgedBeforeIsSpurious) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100)).add(1200, data(1000, 100));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions, 1);
  EXPECT_EQ(flow.a.retransmissions_spurious, 1);
}

TEST(TraceTcp, ADuplicateSackMakesItSpurious) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(301'000, data(1000, 100));
  EXPECT_EQ(file.flow().a.retransmissions_timeout, 1);
  file.add(301'100, ack(1100, sack_option({{1000, 1100}})));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions, 1);
  EXPECT_EQ(flow.a.retransmissions_timeout, 0);
  EXPECT_EQ(flow.a.retransmissions_spurious, 1);
}

TEST(TraceTcp, AnOrdinarySackDoesNot) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1100, 100)).add(301'000, data(1000, 100));
  file.add(301'100, ack(1000, sack_option({{1100, 1200}})));
  EXPECT_EQ(file.flow().a.retransmissions_spurious, 0);
}

TEST(TraceTcp, OvertakenWithinARoundTrip) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1200, 100)).add(1100, data(1100, 100));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.out_of_order, 1);
  EXPECT_EQ(flow.a.retransmissions, 0);
  EXPECT_EQ(flow.a.gaps, 1);
}

TEST(TraceTcp, TheSameLaterWasSentAgain) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1200, 100)).add(1500, data(1100, 100));
  EXPECT_EQ(file.flow().a.out_of_order, 0);
  EXPECT_EQ(file.flow().a.retransmissions, 1);
}

TEST(TraceTcp, BytesSeenBeforeAreNeverOutOfOrder) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1100, 100)).add(1002, data(1000, 100));
  EXPECT_EQ(file.flow().a.out_of_order, 0);
  EXPECT_EQ(file.flow().a.retransmissions, 1);
}

TEST(TraceTcp, SkippedBytesAreAGap) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1300, 100));
  EXPECT_EQ(file.flow().a.gaps, 1);
  EXPECT_EQ(file.flow().a.unseen_acked, 0);
}

TEST(TraceTcp, AcknowledgedUnseenBytesAreAGapOfTheTrace) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1500)).add(1200, ack(1600)).add(1201, ack(1600));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.unseen_acked, 2);
  EXPECT_EQ(flow.a.gaps, 2);
  EXPECT_THAT(flow.problems, Contains(HasSubstr("the trace lacks packets of 10.0.0.1")));
}

TEST(TraceTcp, AHoleThatIsAcknowledgedIsUnseen) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1001, data(1200, 100)).add(1100, ack(1300));
  EXPECT_EQ(file.flow().a.unseen_acked, 1);
}

TEST(TraceTcp, DuplicateAcknowledgementNeedsTheSameWindow) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100));
  Tcp update = ack(1100);
  update.window = 2000;
  file.add(1200, update);
  EXPECT_EQ(file.flow().b.duplicate_acks, 0);
  file.add(1300, update);
  EXPECT_EQ(file.flow().b.duplicate_acks, 1);
}

TEST(TraceTcp, DataIsNoDuplicateAcknowledgement) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100));
  file.add(1200, {.from_a = false, .seq = 5000, .ack = 1100, .payload = 5});
  EXPECT_EQ(file.flow().b.duplicate_acks, 0);
}

TEST(TraceTcp, ZeroWindowIsClosedUntilItOpens) {
  BuiltCapture file = established();
  Tcp closed = ack(1100);
  closed.window = 0;
  file.add(1000, data(1000, 100)).add(1100, closed).add(501'100, closed).add(901'100, ack(1100));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.b.zero_windows, 2);
  EXPECT_EQ(flow.b.closed_ns, 900'000'000);
  EXPECT_THAT(flow.problems, Contains(HasSubstr("10.0.0.2 closed its window")));
}

TEST(TraceTcp, ResetAndSynWithoutWindowAreNotClosed) {
  BuiltCapture file = established();
  file.add(1000, {.from_a = false, .flags = kR, .seq = 5000, .window = 0});
  EXPECT_EQ(file.flow().b.zero_windows, 0);
}

TEST(TraceTcp, ProbesOfAClosedWindow) {
  BuiltCapture file = established();
  Tcp closed = ack(1100);
  closed.window = 0;
  file.add(1000, data(1000, 100)).add(1100, closed);
  file.add(201'100, data(1099, 0)).add(201'200, closed);  // Linux: an old byte's number, no byte
  file.add(601'100, data(1100, 1)).add(601'200, closed);  // the next byte
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.window_probes, 2);
  EXPECT_EQ(flow.a.keepalives, 0);
  EXPECT_EQ(flow.a.retransmissions, 0);
  EXPECT_EQ(flow.b.zero_windows, 3);
  EXPECT_EQ(flow.b.duplicate_acks, 0);
}

TEST(TraceTcp, AProbedByteThatIsTakenIsNoGap) {
  BuiltCapture file = established();
  Tcp closed = ack(1100);
  closed.window = 0;
  file.add(1000, data(1000, 100)).add(1100, closed).add(601'100, data(1100, 1));
  file.add(601'200, ack(1101)).add(601'300, data(1101, 50)).add(601'400, ack(1151));
  EXPECT_EQ(file.flow().a.gaps, 0);
  EXPECT_EQ(file.flow().a.retransmissions, 0);
}

TEST(TraceTcp, KeepalivesAreNoRetransmissions) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100));
  for (int64_t i = 1; i < 4; ++i) {
    file.add(i * 1'000'000, data(1099, i % 2 ? 0 : 1)).add(i * 1'000'000 + 100, ack(1100));
  }
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.keepalives, 3);
  EXPECT_EQ(flow.a.retransmissions, 0);
  EXPECT_EQ(flow.b.duplicate_acks, 0);
}

TEST(TraceTcp, FillingTheWindow) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 3999));
  EXPECT_EQ(file.flow().a.window_full, 0);
  file.add(1001, data(4999, 1));  // b said 1000, scaled by 2 bits, from 1000 on
  EXPECT_EQ(file.flow().a.window_full, 1);
}

// As tshark has it: after the reset nothing is offered any more.
TEST(TraceTcp, WhatFliesAfterTheResetFillsNoWindow) {
  BuiltCapture file = established();
  file.add(1000, {.from_a = false, .flags = kR | kA, .seq = 5000, .ack = 1000});
  file.add(1001, data(1000, 4000));
  EXPECT_EQ(file.flow().a.window_full, 0);
}

TEST(TraceTcp, ScalesCountOnlyWhenBothOfferThem) {
  BuiltCapture file;
  file.add(0, {.flags = kS, .seq = 999, .options = scale_option(7)});
  file.add(10, {.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 1000});
  file.add(20, {.seq = 1000, .ack = 5000, .window = 600});
  EXPECT_EQ(file.flow().a.max_window, 1000);
}

TEST(TraceTcp, NumbersWrapAround) {
  BuiltCapture file;
  file.add(0, {.flags = kS, .seq = 0xfffffff0});
  file.add(10, {.from_a = false, .flags = kS | kA, .seq = 4999, .ack = 0xfffffff1});
  file.add(20, {.seq = 0xfffffff1, .ack = 5000});
  for (uint32_t i = 0; i < 10; ++i) {
    file.add(100 + 10 * i, data(0xfffffff1 + 10 * i, 10));
    file.add(105 + 10 * i, ack(0xfffffffb + 10 * i));
  }
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions + flow.a.gaps + flow.a.out_of_order, 0);
  EXPECT_EQ(flow.a.rtt.samples, 11);
}

TEST(TraceTcp, LargePacketsThatNeverArrive) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(1100, ack(1100));
  for (int64_t i = 0; i < 4; ++i) file.add(2000 + i * 400'000, data(1100, 1448));
  const TraceFlow flow = file.flow();
  EXPECT_EQ(flow.a.retransmissions_timeout, 3);
  EXPECT_EQ(flow.a.unacked_bytes, 1448);
  EXPECT_THAT(flow.problems, Contains(HasSubstr("do large packets get lost?")));
}

TEST(TraceTcp, SmallPacketsThatNeverArriveAreNoMatterOfSize) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 1448)).add(1100, ack(2448));
  for (int64_t i = 0; i < 4; ++i) file.add(2000 + i * 400'000, data(2448, 1448));
  EXPECT_THAT(file.flow().problems, Contains(HasSubstr("sent the same 1448 bytes again 3 times")));
  EXPECT_THAT(file.flow().problems, Not(Contains(HasSubstr("do large packets get lost?"))));
}

TEST(TraceTcp, RatesLeaveRetransmissionsOut) {
  BuiltCapture file = established();
  file.add(1000, data(1000, 100)).add(301'000, data(1000, 100)).add(601'000, ack(1100));
  file.add(10'000'000, data(1100, 50));
  const TraceFlow flow = file.flow();
  int64_t sum = 0;
  for (const TraceRateBin& bin : flow.rate) sum += bin.a_bytes;
  EXPECT_EQ(sum, 150);
  EXPECT_LE(flow.rate.size(), 200U);
  EXPECT_EQ(flow.rate.back().a_bytes, 50);
  EXPECT_NEAR(static_cast<double>(flow.rate.back().at_ns), 1e10, 1.1e8);
}

TEST(TraceTcp, ForgedNumbersOfAResetChangeNothing) {
  BuiltCapture file = established();
  file.add(1000, {.from_a = true, .flags = kR, .seq = 3'000'000'000});
  file.add(1001, data(1000, 100)).add(1100, ack(1100));
  EXPECT_EQ(file.flow().a.retransmissions, 0);
  EXPECT_EQ(file.flow().a.gaps, 0);
}

}  // namespace
}  // namespace plumbline
