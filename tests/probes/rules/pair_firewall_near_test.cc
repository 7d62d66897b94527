// What looks like a filter and is none, or is another one than it seems.
#include <gmock/gmock.h>

#include "diagnosis.h"
#include "packet_stop.h"

namespace plumbline {
namespace {

using test::kBetween;
using test::kIn;
using test::kOut;
using test::named;
using test::PacketStop;
using test::Sight;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<int> kAgreedPorts = {29500, 29600, 29601, 29602, 29603};

EvidenceSet stopped(std::vector<PacketStop> stops, Sight sight, int hosts = 4) {
  EvidenceSet set = test::healthy_star(hosts);
  test::StopModel(set, std::move(stops), sight).apply();
  return set;
}
std::vector<std::string> near_causes(const EvidenceSet& set) {
  return named(find_causes(set, test::pair_checks(set)));
}

void heal(EvidenceSet& set, const std::string& from, const std::string& to) {
  EvidenceSet whole = test::healthy_star(4);
  test::pair(set, from, to) = test::pair(whole, from, to);
}

TEST(PairFirewall, RulesThatLetTheJobPassAreNoFault) {
  for (const PacketStop& stop :
       {PacketStop{kIn, "mini2", {}, {80, 443}}, PacketStop{kOut, "mini2", {}, {25}},
        PacketStop{kIn, "mini2", {"elsewhere"}, {9999}, "icmp"}}) {
    EXPECT_THAT(near_causes(stopped({stop}, Sight::kAll)), IsEmpty());
  }
}

TEST(PairFirewall, ARuleThatSeemsToStopAPortThatIsOpenIsNoFault) {
  EvidenceSet set = stopped({{kIn, "mini2", {}, {29600}}}, Sight::kAll);
  for (PairEvidence& pair : set.pairs) {
    for (PortTry& attempt : pair.ports) attempt = test::connected(attempt.port);
  }
  EXPECT_THAT(near_causes(set), IsEmpty());
}

TEST(PairFirewall, FurtherPortsNeverMakeAPartialRange) {
  // Open further port beside a blocked window: the plain cause, for the window.
  EvidenceSet set = stopped({{kIn, "mini2", {}, kAgreedPorts}}, Sight::kAll);
  set.job.extra_ports = {8080};
  for (PairEvidence& pair : set.pairs) pair.ports.push_back(test::connected(8080));
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_inbound mini2"));

  // Blocked further port beside an open window: the plain cause, and the job is not broken.
  set = test::healthy_star(4);
  set.job.extra_ports = {8080};
  for (PairEvidence& pair : set.pairs) pair.ports.push_back(test::connected(8080));
  test::StopModel(set, {{kIn, "mini2", {}, {8080}}}, Sight::kAll).apply();
  const std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
  ASSERT_THAT(named(findings), ElementsAre("firewall.drop_inbound mini2"));
  EXPECT_THAT(findings[0].ports, ElementsAre(8080));
}

TEST(PairFirewall, SilenceOverABrokenRouteOrLinkIsNoFirewall) {
  // mini1 has no route: its pairs are silent, and what comes to it goes unanswered.
  EvidenceSet set = stopped({{kOut, "mini1", {"mini2"}, {}, "drop", false}}, Sight::kCaptures);
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.error = "ENETUNREACH";
  const std::vector<RankedCandidate> all = proposals(pair_rules(), set, {});
  ASSERT_FALSE(all.empty());
  for (const auto& [candidate, rung, row] : all) {
    EXPECT_FALSE(candidate.proven) << "an earlier cause must be able to take its place";
    EXPECT_TRUE(candidate.needs_way_back);
    EXPECT_LT(candidate.finding.confidence, 0.7);
  }
}

TEST(PairFirewall, AHeldPortIsNotABlockedPort) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    PortTry& attempt = test::port_try(set, from, "mini2", 29601);
    attempt = PortTry{};
    attempt.port = 29601;
    attempt.listener = "in_use";
    attempt.result = "timeout";  // its holder is stopped
    attempt.captured_here = attempt.captured_there = true;
  }
  EXPECT_THAT(near_causes(set), ElementsAre("tcp.port_in_use mini2"));
}

TEST(PairFirewall, RefusalsThatTheKernelRationsAreOneCause) {
  // The kernel sends only some ICMP errors a second: the other ports are silent.
  EvidenceSet set = stopped({{kIn, "mini2", {}, {}, "icmp"}}, Sight::kCaptures);
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    for (const int port : {29602, 29603}) {
      PortTry& attempt = test::port_try(set, from, "mini2", port);
      attempt.result = "timeout";
      attempt.icmp.reset();
    }
  }
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.reject_icmp mini2"));
}

TEST(PairFirewall, ChanceIsNotAFilter) {
  // Half of the packets get lost: some ports are silent, others took a second try.
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini3");
  for (PortTry& attempt : pair.ports) {
    attempt.captured_here = attempt.captured_there = true;
    const bool silent = attempt.port == 29601 || attempt.port == 29602;
    if (silent) {
      attempt.result = "timeout";
      attempt.answer = "";
      attempt.accepted = false;
    }
    TraceFlow flow;
    flow.a_ip = pair.from_ip;
    flow.b_ip = pair.to_ip;
    flow.a.syn = 2;
    attempt.here = flow;
    flow.a.syn = silent ? 0 : 1;
    flow.b.syn_ack = 1;
    if (!silent) attempt.there = flow;
    if (!silent) attempt.here->b.syn_ack = 1;
  }
  pair.quality.reset();
  EXPECT_THAT(near_causes(set), ElementsAre("loss.one_way mini1>mini3"));

  // The same silence with no packet lost on the other ports is a filter.
  for (PortTry& attempt : pair.ports) {
    if (attempt.result == "connected") attempt.here->a.syn = 1;
  }
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.partial_range mini1>mini3"));
}

TEST(PairFirewall, ALittleLossDoesNotHideAFilter) {
  EvidenceSet set = stopped({{kIn, "mini2", {"mini1"}, {29601}}}, Sight::kCaptures);
  for (StreamEvidence& stream : test::pair(set, "mini1", "mini2").quality.emplace().streams) {
    stream.retransmitted = 0;
  }
  StreamEvidence paced = test::stream("paced");
  paced.segments_out = 600;
  paced.retransmitted = 12;
  test::pair(set, "mini1", "mini2").quality->streams = {paced};
  EXPECT_THAT(near_causes(set),
              ElementsAre("firewall.partial_range mini2>mini1", "loss.one_way mini1>mini2 (warn)"));
}

TEST(PairFirewall, AConnectionThatTheListenerAcceptedButNobodyAnswered) {
  EvidenceSet set = test::healthy_star(4);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) {
    attempt.answer = "silent";
    attempt.captured_here = attempt.captured_there = true;
    TraceFlow flow;
    flow.a_ip = "10.10.0.1";
    flow.b_ip = "10.10.0.2";
    flow.a.syn = flow.b.syn_ack = 1;
    flow.a.payload_bytes = 30;
    attempt.here = attempt.there = flow;
    attempt.there->b.payload_bytes = 30;
  }
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_path mini2>mini1"));
}

TEST(PairFirewall, XdpDropsBeforeACaptureSees) {
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini2"}}}, Sight::kCaptures);
  test::nic(set, "mini2", "eth1").xdp = true;
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_inbound mini2>mini1"));
}

TEST(PairFirewall, ALocalRefusalWithoutANeighbourIsNoFirewall) {
  // The own kernel says "host unreachable" when nobody answers ARP.
  EvidenceSet set = stopped({{kOut, "mini1", {"mini2"}, {}, "icmp", false}}, Sight::kCaptures);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) attempt.icmp->code = 1;
  test::unresolve(set, "mini1", "mini2");
  heal(set, "mini2", "mini1");
  EXPECT_THAT(near_causes(set), IsEmpty());
}

TEST(PairFirewall, ARefusalByAnotherHostOfOursNamesThatHost) {
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini3"}, {}, "icmp"}}, Sight::kCaptures);
  for (PortTry& attempt : test::pair(set, "mini1", "mini3").ports) attempt.icmp->from = "10.10.0.2";
  for (PortTry& attempt : test::pair(set, "mini1", "mini3").ports) attempt.captured_there = false;
  heal(set, "mini3", "mini1");
  const std::vector<std::string> found = near_causes(set);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("firewall.reject_icmp mini2"));
}

TEST(PairFirewall, WhatCouldNotBeTriedIsStillReadFromTheRules) {
  // The link of mini1 is down, and its own filter would stop the job as well.
  EvidenceSet set = stopped({{kIn, "mini1", {}, kAgreedPorts}}, Sight::kAll);
  test::silence_host(set, "mini1");
  test::nic(set, "mini1", "eth1").up = false;
  EXPECT_THAT(near_causes(set), Contains("firewall.drop_inbound mini1"));
}

TEST(PairFirewall, AFilterBehindAnotherFilterIsFoundByItsRule) {
  // mini1 lets nothing out to mini2, which would not let it in either.
  const EvidenceSet set =
      stopped({{kOut, "mini1", {"mini2"}, kAgreedPorts}, {kIn, "mini2", {"mini1"}, kAgreedPorts}},
              Sight::kAll);
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_inbound mini2>mini1",
                                            "firewall.drop_outbound mini1>mini2"));
}

FilterRule input_rule(const char* action, const std::vector<std::string>& ports, int64_t handle) {
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = rule.hook = "input";
  rule.chain_type = "filter";
  rule.action = action;
  rule.handle = handle;
  rule.is_policy = handle == 0;
  if (!ports.empty()) rule.matches = {{"dport", false, ports}};
  rule.text = action;
  return rule;
}

TEST(PairFirewall, OnePolicyThatLeavesAPortOpenAndStopsAllAnswersIsOneFault) {
  // Default deny with the master port only, and no rule for answers.
  EvidenceSet set = stopped({{kIn, "mini2"}}, Sight::kCaptures);
  HostEvidence& owner = test::host(set, "mini2");
  for (FilterSource& source : owner.filter_sources) source.readable = true;
  owner.filters = {input_rule("accept", {"29500"}, 3), input_rule("drop", {}, 0)};
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    test::port_try(set, from, "mini2", 29500) = test::connected(29500);
  }
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_inbound mini2"));
}

TEST(PairFirewall, FiltersThatWereReadAndStopNothingLeaveThePath) {
  // Nothing could be captured or counted, but root could read the filters of both ends.
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini3"}}}, Sight::kWord);
  for (HostEvidence& owner : set.hosts) {
    for (FilterSource& source : owner.filter_sources) source.readable = true;
  }
  std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
  ASSERT_THAT(named(findings), ElementsAre("firewall.drop_path mini1>mini3"));
  EXPECT_LT(findings[0].confidence, 0.7);
  // Those of one end only: the other end is left.
  test::host(set, "mini1").filter_sources[0].readable = false;
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.drop_outbound mini1>mini3"));
}

TEST(PairFirewall, IdleConnectionsThatDie) {
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.idle = test::connected(29600);
  pair.idle_s = 90;
  EXPECT_THAT(near_causes(set), IsEmpty()) << "it lived";
  pair.idle->result = "timeout";
  pair.idle->answer = "";
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.idle_timeout mini2>mini1 (warn)"));
  test::pair(set, "mini2", "mini1").idle = pair.idle;
  test::pair(set, "mini2", "mini1").idle_s = 90;
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.idle_timeout mini2>mini1 (warn)"))
      << "both ways are one";
  // With others mini1 fares the same: it is the one that forgets.
  test::pair(set, "mini1", "mini3").idle = pair.idle;
  test::pair(set, "mini1", "mini3").idle_s = 90;
  EXPECT_THAT(near_causes(set), ElementsAre("firewall.idle_timeout mini1 (warn)"));
}

TEST(PairFirewall, IdleConnectionsThatNeverWorkedSayNothing) {
  EvidenceSet set = test::healthy_star(3);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.idle = test::connected(29600);
  pair.idle_s = 90;
  pair.idle->answer = "";
  pair.idle->result = "not_tried";
  EXPECT_THAT(near_causes(set), IsEmpty());
}

TEST(PairFirewall, OddEvidenceIsSurvived) {
  EvidenceSet set = test::healthy_star(3);
  PairEvidence& pair = set.pairs[0];
  pair.ports.push_back(pair.ports[0]);  // one port twice
  pair.ports[0].result = "something new";
  pair.ports[1].result = "timeout";
  pair.ports[1].here = TraceFlow{};  // knows neither address
  pair.ports[1].captured_here = true;
  pair.ports[2].port = -1;
  pair.ports[2].result = "refused";
  pair.burst = BurstEvidence{};
  pair.burst->attempts = 1'000'000;
  set.pairs[1].to = "nobody";
  set.pairs[2].from_ip = "";
  set.hosts.pop_back();
  find_causes(set, test::pair_checks(set));
  set.pairs.clear();
  EXPECT_THAT(near_causes(set), IsEmpty());
  EXPECT_THAT(near_causes(EvidenceSet{}), IsEmpty());
}

}  // namespace
}  // namespace plumbline
