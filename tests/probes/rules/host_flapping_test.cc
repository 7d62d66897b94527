// A link whose signal comes and goes, at every rhythm and phase: link.flapping, and nothing that it
// makes the pairs over it look like. The signal is simulated; the evidence is what a check of 2.7 s
// would have seen of it.
#include <cmath>

#include "host_rule_helpers.h"
#include "probes/probe.h"
#include "probes/rules/host_signal.h"
#include "probes/thresholds.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using test::nic;
using testing::HasSubstr;

constexpr double kCheckS = 2.7, kConnectS = 0.6, kStreamS = 1.2;  // into the check
constexpr double kSteadyS = 10.5;     // how long gathering watches a signal that may be flapping
constexpr double kHalfRhythmS = 5.2;  // and at least, from its beginning, one with a past
constexpr int64_t kBase = 2;          // changes of a card that was plugged in once

std::string flapping_causes(const EvidenceSet& set) {
  std::string out;
  for (const Finding& finding : judge_evidence(set).findings) {
    out += (out.empty() ? "" : " ") + finding.cause + "@" + finding.host;
  }
  return out;
}

// Half a period with a signal, half without, since `began` seconds before the check.
struct Rhythm {
  double period = 1, phase = 0, began = 30;
  // Changes from its beginning to this moment of the check.
  int64_t changes(double at) const {
    return static_cast<int64_t>(std::floor((at + began) / (period / 2) + phase));
  }
  bool signal(double at) const { return changes(at) % 2 == 0; }
};

// What the check saw of the pairs of a host while the signal was gone.
void spoil_pairs(EvidenceSet& set, const std::string& host, const Rhythm& rhythm) {
  if (!rhythm.signal(kConnectS)) test::silence_host(set, host);
  for (PairEvidence& pair : set.pairs) {
    if ((pair.from != host && pair.to != host) || !pair.quality) continue;
    const bool hit = rhythm.changes(kStreamS + 0.3) > rhythm.changes(kStreamS);
    for (StreamEvidence& stream : pair.quality->streams) {
      if (!hit) continue;
      stream.segments_out = 600;
      stream.segments_in = 350;
      stream.bytes /= 3;
      stream.alone = true;
    }
    if (!rhythm.signal(kStreamS)) pair.neighbour->macs.clear();
  }
}

// The host's own end, or the port at the other end of the cable.
void flap(EvidenceSet& set, const std::string& host, const std::string& interface,
          const Rhythm& rhythm, bool own_end) {
  InterfaceEvidence& eth = nic(set, host, interface);
  const int64_t first = kBase + rhythm.changes(0);
  eth.carrier_changes = first;
  eth.carrier_changes_later = kBase + rhythm.changes(kCheckS);
  if (!rhythm.signal(0)) {
    eth.carrier = false;
    eth.up = !own_end;
    eth.state = "DOWN";
  }
  double at = kCheckS;
  for (; may_flap_slowly(eth) && at < kHalfRhythmS; at += 0.2) {
    eth.carrier_changes_later = kBase + rhythm.changes(at);
  }
  double steady = 0;
  for (; may_flap(eth) && steady < kSteadyS; at += 0.2, steady += 0.2) {
    const int64_t now = kBase + rhythm.changes(at);
    if (now != *eth.carrier_changes_later) steady = 0;
    eth.carrier_changes_later = now;
  }
}

TEST(Flapping, EveryRhythmAndPhaseFromEitherEnd) {
  for (const double period : {0.2, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0}) {
    for (double phase = 0; phase < 2; phase += test::kSanitized ? 0.7 : 0.1) {
      for (const bool own_end : {false, true}) {
        const Rhythm rhythm{period, phase, 30};
        EvidenceSet set = test::healthy_star(4);
        flap(set, "mini2", "eth1", rhythm, own_end);
        spoil_pairs(set, "mini2", rhythm);
        EXPECT_EQ(flapping_causes(set), "link.flapping@mini2") << period << " s, phase " << phase;
      }
    }
  }
}

// What began just before the check has no past yet: seen from its second time without a signal on.
TEST(Flapping, OneThatBeganJustNowIsSeenUnlessItIsSlowAndStillAtItsFirstGoing) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  size_t seen = 0, unseen = 0;
  for (const double period : {0.2, 1.0, 3.0, 5.0, 7.0, 10.0}) {
    for (double began = 0.5; began < 30; began += 0.5) {
      const Rhythm rhythm{period, 0, began};
      EvidenceSet set = test::healthy_star(4);
      flap(set, "mini2", "eth1", rhythm, false);
      spoil_pairs(set, "mini2", rhythm);
      const int64_t before = kBase + rhythm.changes(0);
      const bool still = rhythm.changes(kCheckS) == rhythm.changes(0);
      const bool young = rhythm.signal(0) ? before < threshold(Threshold::kCarrierChangesSome)
                                          : before < threshold(Threshold::kCarrierChangesAgain);
      const bool expected = !still || !young;
      EXPECT_EQ(flapping_causes(set) == "link.flapping@mini2", expected)
          << period << " s, began " << began << " s before: " << flapping_causes(set);
      ++(expected ? seen : unseen);
    }
  }
  EXPECT_GT(unseen, 0u);
  EXPECT_GT(seen, 12 * unseen);
}

TEST(Flapping, SeveralInterfacesAreEachNamed) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* host : {"mini2", "mini4"}) {
    flap(set, host, "eth1", {1, 0.4, 30}, false);
    spoil_pairs(set, host, {1, 0.4, 30});
  }
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini2 link.flapping@mini4");
}

TEST(Flapping, BothEndsOfACableAreOneFault) {
  EvidenceSet set = test::healthy_mesh(3);
  flap(set, "mini1", "to2", {1, 0.4, 30}, true);
  flap(set, "mini2", "to1", {1, 0.4, 30}, false);
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini1");
}

TEST(Flapping, OneChangeAloneIsNone) {
  EvidenceSet set = test::healthy_star(4);
  nic(set, "mini2", "eth1").carrier_changes_later = kBase + 1;
  EXPECT_EQ(flapping_causes(set), "");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "link/mini2#eth1 flapping"),
            CheckOutcome::kPass);
  // Pulled out while the check ran.
  nic(set, "mini2", "eth1").carrier = false;
  test::silence_host(set, "mini2");
  EXPECT_EQ(flapping_causes(set), "link.no_carrier@mini2");
}

TEST(Flapping, AnUnpluggedCableWithAHistoryIsNone) {
  EvidenceSet set = test::healthy_star(4);
  InterfaceEvidence& eth = nic(set, "mini2", "eth1");
  eth.carrier = false;
  eth.carrier_changes = eth.carrier_changes_later = 9;
  test::silence_host(set, "mini2");
  EXPECT_EQ(flapping_causes(set), "link.no_carrier@mini2");
}

// After six changes one more is a slow rhythm, and not a plug.
TEST(Flapping, SlowOnesByTheirHistory) {
  EvidenceSet set = test::healthy_star(4);
  InterfaceEvidence& eth = nic(set, "mini2", "eth1");
  eth.carrier_changes = 6;
  eth.carrier_changes_later = 7;
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini2");
  eth.carrier_changes = 5;
  eth.carrier_changes_later = 6;
  EXPECT_EQ(flapping_causes(set), "");
}

TEST(Flapping, OnlyWhatMayFlapIsWatchedOn) {
  InterfaceEvidence eth = test::make_nic("eth1", "02:00:00:00:00:01", {"10.0.0.1/24"});
  EXPECT_FALSE(may_flap(eth)) << "a sound one";
  eth.carrier_changes = eth.carrier_changes_later = 15;
  EXPECT_FALSE(may_flap(eth)) << "sound, with a history";
  EXPECT_TRUE(may_flap_slowly(eth)) << "for a moment";
  eth.carrier_changes = eth.carrier_changes_later = 20;
  EXPECT_FALSE(may_flap_slowly(eth)) << "decided by its history";
  eth.carrier_changes = eth.carrier_changes_later = 5;
  EXPECT_FALSE(may_flap_slowly(eth)) << "plugged in and restarted a few times: nobody waits";
  eth.carrier = false;
  EXPECT_TRUE(may_flap(eth)) << "gone, as it was before";
  eth.carrier_changes = eth.carrier_changes_later = 15;
  EXPECT_TRUE(may_flap(eth));
  eth.carrier_changes = eth.carrier_changes_later = 3;
  EXPECT_FALSE(may_flap(eth)) << "unplugged";
  eth.carrier = true;
  eth.carrier_changes_later = 4;
  EXPECT_TRUE(may_flap(eth)) << "changed once";
  eth.carrier_changes_later = 5;
  EXPECT_FALSE(may_flap(eth)) << "decided";
  eth.carrier_changes.reset();
  EXPECT_FALSE(may_flap(eth)) << "not counted";
}

// The filter's own rule is evidence that no flapping gives.
TEST(Flapping, WhatItExplainsIsToldFromWhatItDoesNot) {
  EvidenceSet set = test::healthy_star(4);
  const Rhythm rhythm{1, 0.4, 30};
  flap(set, "mini2", "eth1", rhythm, false);
  test::silence_host(set, "mini2");
  for (const std::string peer : {"mini1", "mini3", "mini4"}) test::unresolve(set, peer, "mini2");
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini2");
  nic(set, "mini2", "eth1").mtu = 9000;
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini2 mtu.mismatch@mini2");
  nic(set, "mini2", "eth1").mtu = 1500;
  test::silence(set, "mini3", "mini4");  // not over that link
  test::unresolve(set, "mini3", "mini4");
  test::unresolve(set, "mini4", "mini3");
  EXPECT_THAT(flapping_causes(set), HasSubstr("neighbour.unresolved@mini"));
  EXPECT_THAT(flapping_causes(set), HasSubstr("link.flapping@mini2"));
}

TEST(Flapping, TheFailedChecksAreExplained) {
  EvidenceSet set = test::healthy_star(3);
  flap(set, "mini2", "eth1", {1, 0.4, 30}, true);
  test::silence_host(set, "mini2");
  const ProbeResult result = judge_evidence(set);
  ASSERT_EQ(result.findings.size(), 1u);
  const auto& explained = result.findings[0].explains;
  for (const Check& check : result.checks) {
    if (check.outcome != CheckOutcome::kFail) continue;
    EXPECT_THAT(explained, testing::Contains(check.key)) << check.reason;
  }
}

// A member of a bond that another one stands in for: named, and it breaks nothing.
TEST(Flapping, AMemberOfABond) {
  EvidenceSet set = test::healthy_star(3);
  nic(set, "mini1", "eth1").kind = "bond";
  for (const char* member : {"eth7", "eth8"}) {
    InterfaceEvidence port = test::make_nic(member, "02:aa:00:00:00:01", {});
    port.master = "eth1";
    test::host(set, "mini1").interfaces.push_back(port);
  }
  nic(set, "mini1", "eth8").carrier_changes_later = 8;
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini1");
  const Candidate found = test::candidate_of(set, "link.flapping");
  EXPECT_TRUE(found.breaks.empty());
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("eth8"));
  // With the bond itself it is the member that is named, and the pairs suffer.
  nic(set, "mini1", "eth1").carrier_changes_later = 8;
  EXPECT_EQ(test::candidate_of(set, "link.flapping").breaks, test::all_pairs(set, "mini1"));
  EXPECT_EQ(flapping_causes(set), "link.flapping@mini1");
}

}  // namespace
}  // namespace plumbline
