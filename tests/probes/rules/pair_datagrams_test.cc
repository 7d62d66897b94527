// Loss that both ends counted: segments of TCP, and numbered datagrams.
#include <gmock/gmock.h>

#include "evidence_builder.h"
#include "pair_quality_helpers.h"
#include "probes/rules/pair_loss.h"

namespace plumbline {
namespace {

using test::causes;
using test::find;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The receiver did not count: only what was sent again is known.
void resend(EvidenceSet& set, const std::string& from, const std::string& to,
            int64_t retransmitted) {
  StreamEvidence paced = test::stream("paced");
  paced.segments_out = 600;
  paced.retransmitted = retransmitted;
  auto& streams = test::pair(set, from, to).quality->streams;
  std::erase_if(streams, [](const StreamEvidence& s) { return s.kind == "paced"; });
  streams.push_back(paced);
}

// Of what `from` sent, in the paced stream of 600 segments, so many did not arrive.
void lose_segments(EvidenceSet& set, const std::string& from, const std::string& to, int64_t lost,
                   int64_t retransmitted = 0) {
  resend(set, from, to, retransmitted);
  test::pair(set, from, to).quality->streams.back().segments_in = 600 - lost;
}
void count_datagrams(EvidenceSet& set, const std::string& from, const std::string& to,
                     int64_t received, int64_t alone_received = -1) {
  auto& quality = test::pair(set, from, to).quality;
  if (!quality) quality.emplace();
  const auto add = [&](bool alone, int64_t sent, int64_t came, int64_t rate) {
    DatagramEvidence stream;
    stream.alone = alone;
    stream.sent = sent;
    stream.received = came;
    stream.rate_per_s = rate;
    quality->datagrams.push_back(stream);
  };
  add(false, 300, received, 1250);
  if (alone_received >= 0) add(true, 600, alone_received, 400);
}
// No check of the loss warns: what a job does not feel is not reported.
void expect_quiet(const EvidenceSet& set) {
  for (const Check& check : test::pair_checks(set)) {
    EXPECT_NE(check.outcome, CheckOutcome::kWarn) << check.key << ": " << check.reason;
    EXPECT_NE(check.outcome, CheckOutcome::kFail) << check.key << ": " << check.reason;
  }
}

TEST(CountedLoss, ADropOnTheOwnEgressIsNoRetransmission) {
  EvidenceSet set = test::healthy_star(4);
  lose_segments(set, "mini1", "mini2", 66);
  lose_segments(set, "mini2", "mini1", 0);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  count_datagrams(set, "mini1", "mini2", 267, 534);
  count_datagrams(set, "mini2", "mini1", 300, 600);
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  EXPECT_THAT(findings[0].evidence[0].text, HasSubstr("66 of 600 datagrams to mini2"));
}

TEST(CountedLoss, AllSegmentsArrivedIsNoAccidentOfTheCount) {
  EvidenceSet set = test::healthy_star(4);
  lose_segments(set, "mini1", "mini2", 2);
  lose_segments(set, "mini2", "mini1", -3);  // duplicates
  EXPECT_THAT(causes(set), IsEmpty());
  expect_quiet(set);
}

TEST(CountedLoss, SentAgainForLostAcknowledgementsIsNoLossOfThisDirection) {
  EvidenceSet set = test::healthy_star(4);
  lose_segments(set, "mini4", "mini2", 60, 60);
  lose_segments(set, "mini2", "mini4", 0, 25);  // RTOs, no D-SACK yet
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini4>mini2 (warn)"));
}

TEST(CountedLoss, BothWaysThoughOneRuleOnlyIsRead) {
  EvidenceSet set = test::healthy_star(4);
  resend(set, "mini1", "mini2", 40);
  resend(set, "mini2", "mini1", 1);  // its own egress
  count_datagrams(set, "mini1", "mini2", 279, 556);
  count_datagrams(set, "mini2", "mini1", 281, 560);
  FilterRule rule;
  rule.tool = "iptables";
  rule.family = "ip";
  rule.table = "raw";
  rule.chain = "PREROUTING";
  rule.hook = "prerouting";
  rule.handle = 1;
  rule.action = "drop";
  rule.share = 0.07;
  rule.matches = {{"saddr", false, {"10.10.0.1"}}};
  rule.text = "-A PREROUTING -s 10.10.0.1 -m statistic --mode random --probability 0.07 -j DROP";
  test::host(set, "mini2").filters = {rule};
  EXPECT_THAT(causes(set), ElementsAre("loss.random mini1>mini2 (warn)"));
}

TEST(CountedLoss, AHeavyLossThatOnlyFailuresShowIsPlaced) {
  EvidenceSet set = test::healthy_star(4);
  for (const auto& [from, to] : {std::pair("mini1", "mini2"), std::pair("mini2", "mini1")}) {
    PairEvidence& pair = test::pair(set, from, to);
    pair.quality.reset();
    pair.ping->sent = 10;
    pair.ping->received = 6;
    for (PortTry& attempt : pair.ports) {
      if (attempt.port % 2 == 0) continue;
      attempt.result = "timeout";
      attempt.answer = "";
      attempt.accepted = false;
    }
  }
  EXPECT_THAT(causes(set), ElementsAre("loss.random mini1>mini2")) << "echo cannot tell the way";
  count_datagrams(set, "mini1", "mini2", 170, 338);
  count_datagrams(set, "mini2", "mini1", 300, 600);
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("loss.one_way mini1>mini2"));
  for (const Check& check : test::pair_checks(set)) {
    if (check.outcome != CheckOutcome::kFail && check.outcome != CheckOutcome::kWarn) continue;
    EXPECT_THAT(findings[0].explains, testing::Contains(check.key)) << check.reason;
  }
}

TEST(CountedLoss, AStreamWhoseCountNeverCameIsNoWitnessForTcp) {
  // Its end got lost on the own egress: nothing was sent again, and nobody counted.
  EvidenceSet set = test::healthy_star(4);
  resend(set, "mini1", "mini2", 0);
  StreamEvidence& broken = test::pair(set, "mini1", "mini2").quality->streams.back();
  broken.error = "the peer's count of the stream did not come in time";
  lose_segments(set, "mini2", "mini1", 0);
  count_datagrams(set, "mini1", "mini2", 180, 355);
  count_datagrams(set, "mini2", "mini1", 300, 600);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2"));
  // One that ran alone afterwards and lost nothing is.
  StreamEvidence alone = broken;
  alone.alone = true;
  alone.error.clear();
  alone.segments_in = alone.segments_out;
  test::pair(set, "mini1", "mini2").quality->streams.push_back(alone);
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(CountedLoss, ASilentListenerBehindAHeavyLossIsNoStranger) {
  EvidenceSet set = test::healthy_star(4);
  PortTry& attempt = test::port_try(set, "mini1", "mini2", 29601);
  attempt.answer = "silent";
  attempt.accepted = false;
  EXPECT_THAT(causes(set), ElementsAre("tcp.wrong_service mini2>mini1"));
  lose_segments(set, "mini1", "mini2", 30);
  lose_segments(set, "mini2", "mini1", 0);
  EXPECT_THAT(causes(set),
              ElementsAre("tcp.wrong_service mini2>mini1", "loss.one_way mini1>mini2 (warn)"))
      << "a loss of 5 % does not take three in a row";
  lose_segments(set, "mini1", "mini2", 200);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2"));
  attempt.answer = "stranger";
  attempt.stranger_bytes = "220 welcome";
  EXPECT_THAT(causes(set), testing::Contains("tcp.wrong_service mini2>mini1"));
}

TEST(CountedLoss, AProgramThatDropsInTheDarkIsNamedAsSuspect) {
  EvidenceSet set = test::healthy_star(4);
  FilterRule rule;
  rule.tool = "tc";
  rule.family = "any";
  rule.table = "bpf";
  rule.chain = "0";
  rule.hook = "egress";
  rule.device = "eth1";
  rule.handle = 100;
  rule.id = "0x1";
  rule.action = "drop";
  rule.matches = {{"other", false, {"classifier bpf"}}};
  rule.text = "bpf";
  test::host(set, "mini1").filters = {rule};
  EXPECT_THAT(causes(set), IsEmpty()) << "it may drop what the job never sends";
  lose_segments(set, "mini1", "mini2", 66);
  lose_segments(set, "mini2", "mini1", 0);
  std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("tc filter add dev eth1 egress"));
  EXPECT_THAT(findings[0].evidence.back().text, testing::StartsWith("perhaps by tc"));
  EXPECT_LT(findings[0].confidence, 0.95);

  test::host(set, "mini1").filters.push_back(rule);
  findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  EXPECT_THAT(findings[0].remedy.text(), testing::StartsWith("#")) << "which of the two?";
}

TEST(CountedLoss, WhatOnlyDatagramsAndEchoMeetIsNone) {
  // So it looks after a remedy that lets the job's ports past a rule that drops by chance.
  EvidenceSet set = test::healthy_star(4);
  lose_segments(set, "mini1", "mini2", 0);
  lose_segments(set, "mini2", "mini1", 0);
  count_datagrams(set, "mini1", "mini2", 180, 366);
  count_datagrams(set, "mini2", "mini1", 300, 600);
  for (const auto& [from, to] : {std::pair("mini1", "mini2"), std::pair("mini2", "mini1")}) {
    PairEvidence& pair = test::pair(set, from, to);
    pair.ping->sent = 10;
    pair.ping->received = 6;
  }
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.largest_delivered = 1480;
  mtu.smallest_lost = 1490;
  mtu.lost_tries = 4;
  mtu.small_sent = 11;
  mtu.small_lost = 4;
  EXPECT_THAT(causes(set), IsEmpty());
  expect_quiet(set);
}

TEST(CountedLoss, DatagramsThatAreRationedAreNoLoss) {
  EvidenceSet set = test::healthy_star(4);
  for (const auto& [from, to] : {std::pair("mini1", "mini2"), std::pair("mini2", "mini1")}) {
    test::pair(set, from, to).quality.reset();  // no word of TCP's streams
  }
  // 100 a second: of 300 in 240 ms and of 600 in 1500 ms.
  count_datagrams(set, "mini1", "mini2", 29, 155);
  EXPECT_THAT(causes(set), IsEmpty());
  // 1000 a second: all of the slower ones pass.
  test::pair(set, "mini1", "mini2").quality->datagrams.clear();
  count_datagrams(set, "mini1", "mini2", 245, 600);
  EXPECT_THAT(causes(set), IsEmpty());
  // By chance: as many, whatever the pace.
  test::pair(set, "mini1", "mini2").quality->datagrams.clear();
  count_datagrams(set, "mini1", "mini2", 245, 490);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
}

TEST(CountedLoss, WhereNoDatagramComesTcpDecides) {
  EvidenceSet set = test::healthy_star(4);
  count_datagrams(set, "mini1", "mini2", 0, 0);
  count_datagrams(set, "mini2", "mini1", 300, 600);
  EXPECT_THAT(causes(set), IsEmpty());
  expect_quiet(set);
  resend(set, "mini1", "mini2", 30);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  test::pair(set, "mini2", "mini1").quality->datagrams.clear();
  count_datagrams(set, "mini2", "mini1", 0, 0);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
}

TEST(CountedLoss, OfTcpAloneIsFoundThoughDatagramsPass) {
  EvidenceSet set = test::healthy_star(4);
  for (const auto& [from, to] : {std::pair("mini1", "mini2"), std::pair("mini2", "mini1")}) {
    count_datagrams(set, from, to, 300, 600);
  }
  lose_segments(set, "mini1", "mini2", 40, 40);
  lose_segments(set, "mini2", "mini1", 0, 2);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  resend(set, "mini1", "mini2", 40);  // the receiver cannot count
  resend(set, "mini2", "mini1", 0);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
}

TEST(CountedLoss, ABusyReceiverIsNone) {
  EvidenceSet set = test::healthy_star(4);
  resend(set, "mini1", "mini2", 4);  // what the first look at TCP says is no witness against it
  count_datagrams(set, "mini1", "mini2", 250, 500);
  for (DatagramEvidence& stream : test::pair(set, "mini1", "mini2").quality->datagrams) {
    stream.overflow = stream.sent - stream.received;
  }
  const std::vector<Finding> findings = find(set);
  for (const Finding& finding : findings) {
    for (const Evidence& evidence : finding.evidence) {
      EXPECT_THAT(evidence.text, testing::Not(HasSubstr("datagrams"))) << evidence.text;
    }
  }
  resend(set, "mini1", "mini2", 0);
  EXPECT_THAT(causes(set), IsEmpty());
  expect_quiet(set);
}

}  // namespace
}  // namespace plumbline
