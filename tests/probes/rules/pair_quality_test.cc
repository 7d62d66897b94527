#include <gmock/gmock.h>

#include "diagnosis.h"
#include "packet_stop.h"
#include "probes/probe.h"
#include "probes/rules/pair_loss.h"
#include "probes/rules/pair_rate.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Finding> find(const EvidenceSet& set) {
  return find_causes(set, test::pair_checks(set));
}
std::vector<std::string> causes(const EvidenceSet& set) { return test::named(find(set)); }

// ---- MTU ----

void lose_large(EvidenceSet& set, const std::string& from, const std::string& to, int passes) {
  MtuEvidence& mtu = *test::pair(set, from, to).mtu;
  mtu.largest_delivered = passes;
  mtu.smallest_lost = passes + 1;
  mtu.transferred = 20'000;
  mtu.stalled_ns = 800 * test::kMilli;
}

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

void lose(EvidenceSet& set, const std::string& from, const std::string& to, int64_t lost,
          int64_t sent = 600, int64_t duplicates = 0) {
  StreamEvidence paced = test::stream("paced");
  paced.segments_out = sent;
  paced.retransmitted = lost;
  paced.duplicate_reports = duplicates;
  auto& streams = test::pair(set, from, to).quality->streams;
  std::erase_if(streams, [](const StreamEvidence& s) { return s.kind == "paced"; });
  streams.push_back(paced);
}

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

TEST(PairLoss, WhatIsBelowTheLimitIsNotSeenAndNotPassed) {
  EvidenceSet set = test::healthy_star(4);
  lose(set, "mini1", "mini2", 2);            // too few
  lose(set, "mini2", "mini1", 4, 60'000);    // far below the limit
  lose(set, "mini3", "mini1", 40, 600, 40);  // sent again for nothing
  lose(set, "mini4", "mini1", 0, 0);         // nothing was sent
  EXPECT_THAT(causes(set), IsEmpty());
  for (const Check& check : judge_quality(set, {})) {
    if (check.key.find("#loss") == std::string::npos) continue;
    EXPECT_EQ(check.outcome, CheckOutcome::kUnknown) << check.key;
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

// ---- rate ----

void set_rate(EvidenceSet& set, const std::string& from, const std::string& to, double bps,
              bool alone = true, double cpu = 0.2) {
  StreamEvidence stream = test::stream("one_way");
  stream.bytes = static_cast<int64_t>(bps / 8 * 0.3);
  stream.alone = alone;
  stream.cpu_sender = stream.cpu_receiver = cpu;
  auto& streams = test::pair(set, from, to).quality->streams;
  std::erase_if(streams, [](const StreamEvidence& s) { return s.kind == "one_way"; });
  streams.push_back(stream);
}
void set_rates(EvidenceSet& set, double bps, bool alone = true) {
  for (const PairEvidence& pair : std::vector<PairEvidence>(set.pairs)) {
    set_rate(set, pair.from, pair.to, bps, alone);
  }
}

TEST(PairRate, BelowTheLinksSpeed) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  EXPECT_THAT(causes(set), IsEmpty());
  set_rate(set, "mini1", "mini3", 0.4e9);
  set_rate(set, "mini3", "mini1", 0.45e9);
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini3 (warn)"));
}

TEST(PairRate, WhatWasMeasuredBesideOthersIsNotTrusted) {
  EvidenceSet set = test::healthy_star(4);
  set_rate(set, "mini1", "mini3", 0.4e9, false);
  EXPECT_THAT(causes(set), IsEmpty());
  auto& streams = test::pair(set, "mini1", "mini3").quality->streams;
  streams.push_back(streams.back());  // twice the same
  set_rate(set, "mini3", "mini1", 0.41e9, true);
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini3 (warn)"));
}

TEST(PairRate, TheHostFileKnowsBetterThanTheSystem) {
  EvidenceSet set = test::healthy_star(2);
  set_rates(set, 0.93e9);
  for (JobHost& host : set.job.hosts) host.speed = "3Gbit";
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
}

TEST(PairRate, BelowAQuarterOfAStatedSpeedFails) {
  EvidenceSet set = test::healthy_star(2);
  set_rates(set, 0.93e9);
  for (JobHost& host : set.job.hosts) host.speed = "10Gbit";
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2"));
  const auto checks = test::pair_checks(set);
  const auto rate = std::find_if(checks.begin(), checks.end(), [](const Check& check) {
    return check.key == "quality/mini1>mini2#rate";
  });
  ASSERT_NE(rate, checks.end());
  EXPECT_EQ(rate->outcome, CheckOutcome::kFail);
  // A negotiated speed is nobody's word.
  for (JobHost& host : set.job.hosts) host.speed.clear();
  for (const char* name : {"mini1", "mini2"}) {
    test::nic(set, name, "eth1").speed_bps = test::nic(set, name, "eth1").speed_max_bps =
        10'000'000'000;
  }
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
  // Stated at the faster end only: the slower one decides.
  set.job.hosts[0].speed = "40Gbit";
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
}

TEST(PairRate, AFailureOfTheRateIsStillASymptomOfLoss) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  for (JobHost& host : set.job.hosts) host.speed = "1Gbit";
  set_rate(set, "mini1", "mini3", 0.1e9);
  lose(set, "mini1", "mini3", 30);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini3 (warn)"));
}

TEST(PairRate, SpeedsOfVirtualCardsMeanNothing) {
  EvidenceSet set = test::healthy_star(2);
  set_rates(set, 0.2e9);
  for (const char* name : {"mini1", "mini2"}) test::nic(set, name, "eth1").kind = "veth";
  EXPECT_THAT(causes(set), IsEmpty());
}

// 12 of 40 Gbit/s is what a sound pair of Macs reaches over its Thunderbolt bridge.
TEST(PairRate, TheSignallingRateOfThunderboltIsNoNetworksRate) {
  EvidenceSet set = test::healthy_star(2);
  for (const char* name : {"mini1", "mini2"}) {
    test::nic(set, name, "eth1").kind = "thunderbolt";
    test::nic(set, name, "eth1").speed_bps = 40'000'000'000;
  }
  set_rates(set, 12e9);
  EXPECT_THAT(causes(set), IsEmpty());
  for (JobHost& host : set.job.hosts) host.speed = "40Gbit";  // who writes it down expects it
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
}

TEST(PairRate, WithoutASpeedTheOtherPairsAreTheMeasure) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* name : {"mini1", "mini2", "mini3", "mini4"}) {
    test::nic(set, name, "eth1").speed_bps.reset();
  }
  set_rates(set, 4e9);
  EXPECT_THAT(causes(set), IsEmpty());
  for (const char* peer : {"mini1", "mini3", "mini4"}) {
    set_rate(set, "mini2", peer, 1e9);
    set_rate(set, peer, "mini2", 1.1e9);
  }
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini2 (warn)"));

  EvidenceSet few = test::healthy_star(2);
  for (const char* name : {"mini1", "mini2"}) test::nic(few, name, "eth1").speed_bps.reset();
  set_rates(few, 0.1e9);
  EXPECT_THAT(causes(few), IsEmpty()) << "nothing to compare with";
}

// Half and more of the pairs may be slow: the best group is the measure, not the median.
TEST(PairRate, SlowHostsUpToAllButTwoAreNamed) {
  for (int hosts = 3; hosts <= 6; ++hosts) {
    for (int slow = 1; slow <= hosts - 2; ++slow) {
      EvidenceSet set = test::healthy_star(hosts);
      for (const JobHost& host : set.job.hosts) test::nic(set, host.name, "eth1").speed_bps.reset();
      set_rates(set, 0.93e9);
      std::vector<std::string> expected;
      for (int host = 1; host <= slow; ++host) {
        const std::string name = "mini" + std::to_string(host);
        expected.push_back("rate.below_link " + name + " (warn)");
        for (const JobHost& peer : set.job.hosts) {
          if (peer.name == name) continue;
          set_rate(set, name, peer.name, 0.14e9);
          set_rate(set, peer.name, name, 0.15e9);
        }
      }
      EXPECT_THAT(causes(set), testing::ElementsAreArray(expected)) << slow << " of " << hosts;
    }
  }
}

TEST(PairRate, DirectionsThatDiffer) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  for (const char* peer : {"mini1", "mini3", "mini4"}) set_rate(set, "mini2", peer, 0.2e9);
  EXPECT_THAT(causes(set), ElementsAre("rate.asymmetric mini2 (warn)"));
  set_rates(set, 0.93e9);
  set_rate(set, "mini4", "mini1", 0.5e9);
  EXPECT_THAT(causes(set), ElementsAre("rate.asymmetric mini4>mini1 (warn)"));
  set_rate(set, "mini4", "mini1", 0.7e9);
  EXPECT_THAT(causes(set), IsEmpty());
}

// A busy machine made locked_down, a healthy lab, asymmetric.
TEST(PairRate, OnSharedCoresOnlyAPromisedSpeedIsJudged) {
  EvidenceSet set = test::healthy_star(2);
  for (const char* name : {"mini1", "mini2"}) test::nic(set, name, "eth1").kind = "veth";
  set_rate(set, "mini1", "mini2", 0.4e9);
  set_rate(set, "mini2", "mini1", 0.93e9);
  EXPECT_THAT(causes(set), ElementsAre("rate.asymmetric mini1>mini2 (warn)"));
  for (JobHost& host : set.job.hosts) host.reached_by = "netns";
  EXPECT_THAT(causes(set), IsEmpty());
  for (JobHost& host : set.job.hosts) host.speed = "1Gbit";
  EXPECT_THAT(causes(set), ElementsAre("rate.asymmetric mini1>mini2 (warn)"));
}

// Four namespaces without a speed.
EvidenceSet on_one_machine() {
  EvidenceSet set = test::healthy_star(4);
  for (JobHost& host : set.job.hosts) {
    host.reached_by = "netns";
    test::nic(set, host.name, "eth1").kind = "veth";
    test::nic(set, host.name, "eth1").speed_bps.reset();
  }
  set_rates(set, 20e9, false);
  return set;
}
// Measured alone, in turns with another pair's stream: {own, other} each time.
void in_turns(EvidenceSet& set, const std::string& from, const std::string& to,
              const std::vector<std::pair<double, double>>& turns) {
  auto& streams = test::pair(set, from, to).quality->streams;
  std::erase_if(streams, [](const StreamEvidence& s) { return s.kind != "paced"; });
  for (const auto& [own, other] : turns) {
    for (const auto& [kind, bps] : {std::pair("one_way", own), std::pair("reference", other)}) {
      streams.push_back(test::stream(kind));
      streams.back().alone = true;
      streams.back().bytes = static_cast<int64_t>(bps * 0.3 / 8);
    }
  }
}
void in_turns_both(EvidenceSet& set, const std::vector<std::pair<double, double>>& turns) {
  in_turns(set, "mini1", "mini2", turns);
  in_turns(set, "mini2", "mini1", turns);
}

TEST(PairRate, OnSharedCoresARepeatedRatioOfFourIsALinks) {
  EvidenceSet set = on_one_machine();
  EXPECT_THAT(causes(set), IsEmpty());
  in_turns_both(set, {{0.2e9, 18e9}, {0.21e9, 20e9}, {0.2e9, 19e9}});
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
  in_turns(set, "mini2", "mini1", {{17e9, 18e9}, {18e9, 20e9}, {17e9, 19e9}});
  EXPECT_THAT(causes(set), ElementsAre("rate.asymmetric mini1>mini2 (warn)"));
}

// A busy machine explains a rate, but not one that was measured against its load.
TEST(PairRate, OnSharedCoresABusyMachineIsNoExcuse) {
  EvidenceSet set = on_one_machine();
  for (HostEvidence& host : set.hosts) host.load1 = 20;
  const auto found = [&] {
    std::vector<std::string> out;
    for (const Finding& finding : judge_evidence(set).findings) out.push_back(finding.cause);
    return out;
  };
  in_turns_both(set, {{0.2e9, 5e9}, {0.2e9, 7e9}, {0.1e9, 3e9}});
  EXPECT_THAT(found(), testing::Contains("rate.below_link"));
  in_turns_both(set, {{0.2e9, 5e9}, {0.2e9, 7e9}, {0.1e9, 0.5e9}});
  EXPECT_THAT(found(), testing::Not(testing::Contains("rate.below_link")));
}

TEST(PairRate, OnSharedCoresNothingElseIs) {
  EvidenceSet set = on_one_machine();
  in_turns_both(set, {{0.2e9, 18e9}, {0.2e9, 18e9}});
  EXPECT_THAT(causes(set), IsEmpty()) << "two turns are chance";
  in_turns_both(set, {{0.2e9, 18e9}, {0.2e9, 0.7e9}, {0.2e9, 18e9}});
  EXPECT_THAT(causes(set), IsEmpty()) << "cores that are busy slow the other one too";
  in_turns_both(set, {{0.2e9, 18e9}, {6e9, 18e9}, {0.2e9, 18e9}});
  EXPECT_THAT(causes(set), IsEmpty()) << "once it was as fast as cores are";
  in_turns_both(set, {{2e9, 18e9}, {2e9, 7e9}, {2e9, 18e9}});
  EXPECT_THAT(causes(set), IsEmpty()) << "3.5 times";
  set_rate(set, "mini1", "mini2", 0.2e9, false);
  set_rate(set, "mini3", "mini4", 20e9, true);
  EXPECT_THAT(causes(set), IsEmpty()) << "beside others";
  set = on_one_machine();
  in_turns(set, "mini1", "mini2", {{0.2e9, 18e9}, {0.2e9, 18e9}, {0.2e9, 18e9}});
  for (StreamEvidence& stream : test::pair(set, "mini1", "mini2").quality->streams) {
    stream.cpu_sender = stream.cpu_receiver = 0.6;
  }
  EXPECT_THAT(causes(set), IsEmpty()) << "a core was full";
}

TEST(PairRate, OnSharedCoresAStatedSpeedThatNoPairReachesIsNoLinks) {
  EvidenceSet set = on_one_machine();
  for (JobHost& host : set.job.hosts) host.speed = "1Gbit";
  set_rates(set, 0.93e9, false);
  in_turns_both(set, {{0.4e9, 0.5e9}});
  EXPECT_THAT(causes(set), IsEmpty()) << "busy cores";
  in_turns_both(set, {{0.4e9, 0.93e9}});
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2 (warn)"));
  in_turns_both(set, {{0.2e9, 0.5e9}});
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini2"));
}

TEST(PairRate, AFullCoreIsTheHostsLimit) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  set_rate(set, "mini1", "mini3", 0.4e9, true, 0.97);
  EXPECT_THAT(causes(set), ElementsAre("rate.host_limited mini1>mini3 (warn)"));
  for (const char* name : {"mini1", "mini3"}) test::nic(set, name, "eth1").speed_bps.reset();
  EXPECT_THAT(causes(set), IsEmpty()) << "no link speed is known that it would miss";
}

TEST(PairRate, AFullWindowIsTheReceiversLimit) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  set_rate(set, "mini1", "mini3", 0.4e9);
  test::pair(set, "mini1", "mini3").quality->streams.back().limited_by_receiver = 0.9;
  EXPECT_THAT(causes(set), ElementsAre("rate.host_limited mini3>mini1 (warn)"));
}

TEST(PairRate, LossExplainsTheRate) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  set_rate(set, "mini1", "mini3", 0.1e9);
  lose(set, "mini1", "mini3", 30);
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini3 (warn)"));
}

TEST(PairRate, ABlackHoleExplainsTheRate) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  for (const auto& [from, to] : {std::pair("mini1", "mini3"), std::pair("mini3", "mini1")}) {
    set_rate(set, from, to, 0.1e9);
    lose_large(set, from, to, 1300);
  }
  EXPECT_THAT(causes(set), ElementsAre("mtu.blackhole mini1>mini3"));
}

TEST(PairRate, AFaultElsewhereDoesNotHideIt) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  test::StopModel(set, {{test::PacketStop::kIn, "mini4", {}, {29601}}}, test::Sight::kAll).apply();
  EvidenceSet whole = test::healthy_star(4);
  for (PairEvidence& pair : set.pairs) {
    if (!pair.quality) pair.quality = test::pair(whole, pair.from, pair.to).quality;
  }
  lose(set, "mini1", "mini4", 30);
  EXPECT_THAT(causes(set),
              ElementsAre("firewall.partial_range mini4", "loss.one_way mini1>mini4 (warn)"));
}

// ---- latency ----

void set_latency(EvidenceSet& set, const std::string& a, const std::string& b, int64_t ns) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    test::pair(set, from, to).quality->round_trips_ns = {ns, ns + 1000, ns + 2000};
  }
}

TEST(PairLatency, FarAboveTheOthers) {
  EvidenceSet set = test::healthy_star(4);
  set_latency(set, "mini1", "mini3", 20 * test::kMilli);
  EXPECT_THAT(causes(set), ElementsAre("latency.high mini1>mini3 (warn)"));
  for (const char* peer : {"mini1", "mini2", "mini4"}) {
    set_latency(set, "mini3", peer, 20 * test::kMilli);
  }
  EXPECT_THAT(causes(set), ElementsAre("latency.high mini3 (warn)"));
}

TEST(PairLatency, NearMisses) {
  EvidenceSet set = test::healthy_star(4);
  set_latency(set, "mini1", "mini3", 900 * test::kMicro);  // six times the others, below 1 ms
  EXPECT_THAT(causes(set), IsEmpty());
  set = test::healthy_star(3);  // two other pairs are no measure
  set_latency(set, "mini1", "mini3", 20 * test::kMilli);
  EXPECT_THAT(causes(set), IsEmpty());
  set = test::healthy_star(4);  // radio
  for (const char* name : {"mini1", "mini2", "mini3", "mini4"}) {
    test::nic(set, name, "eth1").kind = "wifi";
  }
  set_latency(set, "mini1", "mini3", 20 * test::kMilli);
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairLatency, ARateLimitExplainsIt) {
  EvidenceSet set = test::healthy_star(4);
  set_rates(set, 0.93e9);
  set_rate(set, "mini1", "mini3", 0.1e9);
  set_rate(set, "mini3", "mini1", 0.1e9);
  set_latency(set, "mini1", "mini3", 20 * test::kMilli);
  EXPECT_THAT(causes(set), ElementsAre("rate.below_link mini1>mini3 (warn)"));
}

}  // namespace
}  // namespace plumbline
