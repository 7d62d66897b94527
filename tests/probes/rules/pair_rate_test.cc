// Rates and latencies between two hosts: what is below a promise or below the other pairs.

#include <gmock/gmock.h>

#include "packet_stop.h"
#include "pair_quality_helpers.h"
#include "probes/probe.h"
#include "probes/rules/pair_loss.h"

namespace plumbline {
namespace {

using test::causes;
using test::lose;
using test::lose_large;
using testing::ElementsAre;
using testing::IsEmpty;

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

// Seen: seven clusters of four agents on two processors, 6.79 ms in the middle of the samples.
TEST(PairLatency, ACrowdedMachineIsNoPath) {
  EvidenceSet set = test::healthy_star(4);
  for (const auto& [from, to] : {std::pair("mini1", "mini3"), std::pair("mini3", "mini1")}) {
    test::pair(set, from, to).quality->round_trips_ns = {7 * test::kMilli, 6 * test::kMilli,
                                                         70 * test::kMicro, 9 * test::kMilli};
  }
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
