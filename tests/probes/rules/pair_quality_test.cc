#include <gmock/gmock.h>

#include "packet_stop.h"
#include "pair_quality_helpers.h"
#include "probes/probe.h"
#include "probes/rules/pair_loss.h"

namespace plumbline {
namespace {

using test::causes;
using test::find;
using test::lose;
using test::lose_large;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- MTU ----

TEST(PairMtu, LargePacketsThatVanish) {
  EvidenceSet set = test::healthy_star(4);
  lose_large(set, "mini2", "mini4", 1400);
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("mtu.blackhole mini2>mini4"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("ip route replace 10.10.0.4/32 dev eth1"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("mtu 1400"));
  EXPECT_THAT(findings[0].explains, testing::Contains("mtu/mini2>mini4"));
}

TEST(PairMtu, BothDirectionsAreOneFault) {
  EvidenceSet set = test::healthy_star(4);
  lose_large(set, "mini4", "mini2", 1400);
  lose_large(set, "mini2", "mini4", 1400);
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini2>mini4"));
}

TEST(PairMtu, OneHostWithAllItsPeersIsOneFault) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* peer : {"mini1", "mini2", "mini4"}) lose_large(set, peer, "mini3", 1300);
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini3"));
}

TEST(PairMtu, WhatIsToldIsNoBlackHole) {
  EvidenceSet set = test::healthy_star(4);
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.largest_delivered = 1400;
  mtu.told = 1400;
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairMtu, ASmallerMtuAtTheOtherEndIsNoBlackHole) {
  // 9000 here and 1500 there: a mismatch, which has a cause of its own.
  EvidenceSet set = test::healthy_star(4);
  test::nic(set, "mini1", "eth1").mtu = 9000;
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.interface_mtu = 9000;
  mtu.largest_delivered = 1500;
  mtu.smallest_lost = 1501;
  EXPECT_THAT(causes(set), ElementsAre("mtu.mismatch mini1 (warn)"));
}

TEST(PairMtu, AStalledTransferAloneIsLessSure) {
  EvidenceSet set = test::healthy_star(4);
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.largest_delivered = 0;  // no datagram came through at all
  mtu.smallest_lost = 60;
  mtu.transferred = 3'000;
  mtu.stalled_ns = 900 * test::kMilli;
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("mtu.blackhole mini1>mini2"));
  EXPECT_LT(findings[0].confidence, 0.7);

  mtu.transferred = mtu.transfer_bytes;
  mtu.stalled_ns = 0;
  EXPECT_THAT(causes(set), IsEmpty()) << "datagrams are filtered, TCP is whole";
}

TEST(PairMtu, ASlowTransferIsNoBlackHole) {
  EvidenceSet set = test::healthy_star(4);
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.transferred = mtu.transfer_bytes / 2;  // the time was over, but it never paused
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairMtu, WhatIsLostByChanceIsNoBlackHole) {
  EvidenceSet set = test::healthy_star(4);
  lose_large(set, "mini2", "mini4", 1400);
  MtuEvidence& mtu = *test::pair(set, "mini2", "mini4").mtu;
  mtu.transferred = mtu.transfer_bytes;
  mtu.stalled_ns = 0;
  mtu.lost_tries = 3;
  mtu.small_sent = 11;
  mtu.small_lost = 4;
  EXPECT_THAT(causes(set), IsEmpty()) << "three of three large ones, and four of eleven small ones";
  mtu.lost_tries = 14;
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini2>mini4 (warn)")) << "all of fourteen";
  mtu.lost_tries = 4;
  mtu.small_lost = 0;
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini2>mini4 (warn)")) << "no small one";
}

TEST(PairMtu, WorksAllTheSame) {
  EvidenceSet set = test::healthy_star(4);
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.largest_delivered = 1400;
  mtu.smallest_lost = 1401;
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini1>mini2 (warn)"));
}

TEST(PairMtu, ARuleThatDropsByLengthIsNamed) {
  EvidenceSet set = test::healthy_star(4);
  lose_large(set, "mini2", "mini4", 1000);
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = rule.hook = "output";
  rule.handle = 9;
  rule.action = "drop";
  rule.matches = {{"daddr", false, {"10.10.0.4"}}, {"length", false, {"1001-65535"}}};
  rule.text = "ip daddr 10.10.0.4 meta length > 1000 drop";
  test::host(set, "mini2").filters = {rule};
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("mtu.blackhole mini2>mini4"));
  EXPECT_THAT(findings[0].evidence.back().text, HasSubstr("length > 1000"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("nft '"));
}

// ---- loss ----

TEST(PairLoss, OneWay) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini1", "mini2", 18);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2 (warn)"));
}

TEST(PairLoss, BothWays) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini4", "mini2", 18);
  lose(set, "mini2", "mini4", 25);
  EXPECT_THAT(causes(set), ElementsAre("loss.random mini2>mini4 (warn)"));
}

TEST(PairLoss, LostAcknowledgementsAreNoLossOfTheOtherDirection) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini4", "mini2", 120);
  lose(set, "mini2", "mini4", 7);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini4>mini2 (warn)"));
}

TEST(PairLoss, HeavyLossIsAFailure) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini1", "mini2", 180);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2"));
}

TEST(PairLoss, AHostThatLosesWithEverybodyIsNamedOnce) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* peer : {"mini1", "mini2", "mini4"}) {
    lose(set, "mini3", peer, 20);
    lose(set, peer, "mini3", 20);
  }
  EXPECT_THAT(causes(set), ElementsAre("loss.random mini3 (warn)"));
}

TEST(PairLoss, WhatIsBelowTheLimitIsNotSeenAndOnlyNoLossAtAllPasses) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini1", "mini2", 2);            // too few
  lose(set, "mini2", "mini1", 4, 60'000);    // far below the limit
  lose(set, "mini3", "mini1", 40, 600, 40);  // sent again for nothing
  lose(set, "mini4", "mini1", 0, 0);         // nothing was sent
  EXPECT_THAT(causes(set), IsEmpty());
  for (const Check& check : judge_quality(set, {})) {
    if (check.key.find("#loss") == std::string::npos) continue;
    const bool open = check.key == "quality/mini1>mini2#loss" ||
                      check.key == "quality/mini2>mini1#loss" ||
                      check.key == "quality/mini4>mini1#loss";
    EXPECT_EQ(check.outcome, open ? CheckOutcome::kUnknown : CheckOutcome::kPass)
        << check.key << ": " << check.reason;
  }
}

TEST(PairLoss, DeepFindsLess) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini2", "mini1", 12, 12'000);
  EXPECT_THAT(causes(set), IsEmpty());
  set.job.deep = true;
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini2>mini1 (warn)"));
}

TEST(PairLoss, EchoAloneCannotTellTheDirection) {
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.ping->sent = 20;
  pair.ping->received = 14;
  EXPECT_THAT(causes(set), IsEmpty()) << "TCP shows no loss: ICMP is rationed";
  pair.quality.reset();
  EXPECT_THAT(causes(set), ElementsAre("loss.random mini1>mini2 (warn)"));
}

TEST(PairLoss, ARuleThatDropsAShareIsEvidenceAndRemedy) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini1", "mini2", 30);
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = rule.hook = "output";
  rule.handle = 3;
  rule.action = "drop";
  rule.share = 0.05;
  rule.matches = {{"daddr", false, {"10.10.0.2"}}};
  rule.text = "ip daddr 10.10.0.2 numgen random mod 100 < 5 drop";
  test::host(set, "mini1").filters = {rule};
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("loss.one_way mini1>mini2 (warn)"));
  EXPECT_THAT(findings[0].evidence.back().text, HasSubstr("numgen"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("nft '"));
  EXPECT_GT(findings[0].confidence, 0.95);
}

TEST(PairLoss, ConnectionsThatFailByAHeavyRuleAreLossAndNoFilter) {
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  for (PortTry& attempt : pair.ports) {
    if (attempt.port % 2 == 0) continue;
    attempt.result = "timeout";
    attempt.answer = "";
    attempt.accepted = false;
  }
  pair.quality.reset();
  FilterRule rule;
  rule.tool = "iptables";
  rule.family = "ip";
  rule.table = "filter";
  rule.chain = "INPUT";
  rule.hook = "input";
  rule.handle = 1;
  rule.action = "drop";
  rule.share = 0.5;
  rule.matches = {{"saddr", false, {"10.10.0.1"}}};
  rule.text = "-A INPUT -s 10.10.0.1 -m statistic --mode random --probability 0.5 -j DROP";
  test::host(set, "mini2").filters = {rule};
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini2"));
}

TEST(PairLoss, TheIntervalIsWilsons) {
  // Values of the Wilson score interval, 95 %.
  const auto [low, high] = wilson_interval(10, 100);
  EXPECT_NEAR(low, 0.0552, 0.0005);
  EXPECT_NEAR(high, 0.1744, 0.0005);
  EXPECT_EQ(wilson_interval(0, 0), (std::pair<double, double>(0, 1)));
  EXPECT_EQ(wilson_interval(0, 50).first, 0);
  EXPECT_GT(wilson_interval(0, 50).second, 0.05);
  EXPECT_LE(wilson_interval(50, 50).second, 1);
  EXPECT_LE(wilson_interval(70, 50).second, 1);
}

}  // namespace
}  // namespace plumbline
