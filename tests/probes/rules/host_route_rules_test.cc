#include "host_rule_helpers.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using test::nic;
using testing::HasSubstr;

EvidenceSet star() { return test::healthy_star(3); }

RouteEvidence route(const std::string& destination, const std::string& dev,
                    const std::string& via = "", const std::string& type = "unicast") {
  RouteEvidence out;
  out.destination = destination;
  out.dev = dev;
  out.via = via;
  out.type = type;
  out.table = "main";
  return out;
}

// ---- neighbours ----

TEST(NeighbourRules, WrongStaticEntry) {
  EvidenceSet set = star();
  test::silence(set, "mini1", "mini2");
  for (NeighbourEvidence& entry : test::host(set, "mini1").neighbours) {
    if (entry.ip == "10.10.0.2") entry = {"10.10.0.2", "eth1", "02:de:ad:be:ef:00", "PERMANENT"};
  }
  test::pair(set, "mini1", "mini2").neighbour->kernel_mac = "02:de:ad:be:ef:00";
  test::pair(set, "mini1", "mini2").neighbour->kernel_state = "PERMANENT";
  const Candidate found = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(found.finding.host, "mini1");
  EXPECT_EQ(found.finding.peer, "mini2");
  EXPECT_EQ(found.finding.remedy.text(), "ip neigh del 10.10.0.2 dev eth1");
  EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini1");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini2"), CheckOutcome::kFail);
}

TEST(NeighbourRules, RightStaticEntryIsFine) {
  EvidenceSet set = star();
  for (NeighbourEvidence& entry : test::host(set, "mini1").neighbours) entry.state = "PERMANENT";
  EXPECT_EQ(causes_of(set), "");
  // In capitals it is the same address.
  for (NeighbourEvidence& entry : test::host(set, "mini1").neighbours) {
    std::transform(entry.mac.begin(), entry.mac.end(), entry.mac.begin(), ::toupper);
  }
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(causes_of(set), "");
}

TEST(NeighbourRules, ArpSwitchedOff) {
  EvidenceSet set = star();
  nic(set, "mini2", "eth1").arp = false;
  EXPECT_EQ(causes_of(set), "") << "while it works it is somebody's choice";
  test::silence_host(set, "mini2");
  for (const char* peer : {"mini1", "mini3"}) test::unresolve(set, peer, "mini2");
  const Candidate found = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth1 arp on");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini2");
}

TEST(NeighbourRules, AnswersForbidden) {
  EvidenceSet set = star();
  test::host(set, "mini3").sysctls["net.ipv4.conf.eth1.arp_ignore"] = "8";
  for (const char* peer : {"mini1", "mini2"}) {
    test::silence(set, "mini3", peer);
    test::unresolve(set, peer, "mini3");
  }
  const Candidate found = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(found.finding.host, "mini3");
  EXPECT_EQ(found.finding.remedy.text(), "sysctl -w net.ipv4.conf.eth1.arp_ignore=0");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini3"));
  // 1 answers for the addresses of the interface, which is enough.
  test::host(set, "mini3").sysctls["net.ipv4.conf.eth1.arp_ignore"] = "1";
  EXPECT_THAT(candidate_of(set, "neighbour.unresolved").finding.remedy.text(), HasSubstr("switch"));
}

TEST(NeighbourRules, FilterThatDropsArp) {
  EvidenceSet set = star();
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "arp";
  rule.table = "filter";
  rule.chain = "input";
  rule.hook = "input";
  rule.handle = 4;
  rule.action = "drop";
  rule.text = "arp operation request drop";
  test::host(set, "mini2").filters.push_back(rule);
  EXPECT_EQ(causes_of(set), "");
  test::silence_host(set, "mini2");
  for (const char* peer : {"mini1", "mini3"}) test::unresolve(set, peer, "mini2");
  const Candidate found = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.finding.remedy.text(), "nft delete rule arp filter input handle 4");
}

TEST(NeighbourRules, HostThatIsSilentTowardsAll) {
  EvidenceSet set = test::healthy_star(4);
  test::silence_host(set, "mini3");
  for (const char* peer : {"mini1", "mini2", "mini4"}) {
    test::unresolve(set, peer, "mini3");
    test::unresolve(set, "mini3", peer);
  }
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini3");
  EXPECT_EQ(candidate_of(set, "neighbour.unresolved").breaks, test::all_pairs(set, "mini3"));
}

TEST(NeighbourRules, TwoHostsThatMayNotTalk) {
  EvidenceSet set = test::healthy_star(4);
  test::silence(set, "mini2", "mini4");
  test::unresolve(set, "mini2", "mini4");
  test::unresolve(set, "mini4", "mini2");
  const Candidate found = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.finding.peer, "mini4");
  // Where the bridge is on a host of the job, its ports are seen.
  for (const char* port : {"p2", "p4"}) {
    InterfaceEvidence interface = test::make_nic(port, "", {}, "veth");
    interface.master = "br0";
    interface.isolated = true;
    test::host(set, "mini1").interfaces.push_back(interface);
  }
  const Candidate isolated = candidate_of(set, "neighbour.unresolved");
  EXPECT_EQ(isolated.finding.host, "mini1");
  EXPECT_EQ(isolated.finding.remedy.text(),
            "bridge link set dev p2 isolated off\nbridge link set dev p4 isolated off");
  EXPECT_EQ(isolated.breaks, (OrderedPairs{{"mini2", "mini4"}, {"mini4", "mini2"}}));
}

TEST(NeighbourRules, WhoStaysSilentWhenAskedIsNamed) {
  EvidenceSet set = star();
  test::silence(set, "mini1", "mini2");
  test::unresolve(set, "mini1", "mini2");
  EXPECT_EQ(candidate_of(set, "neighbour.unresolved").finding.host, "mini2");
}

TEST(NeighbourRules, ResolvedPairThatFailsIsNotTheirs) {
  EvidenceSet set = star();
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(causes_of(set), "");
  // Nor is what was never asked.
  for (PairEvidence& pair : set.pairs) pair.neighbour.reset();
  EXPECT_EQ(causes_of(set), "");
}

TEST(NeighbourRules, SilentGateway) {
  test::ClusterBuilder builder;
  builder.data("a", "eth1", "10.10.1.1/24", "ethernet", "10.10.1.254");
  builder.data("b", "eth1", "10.10.2.1/24", "ethernet", "10.10.2.254");
  EvidenceSet set = builder.build();
  test::silence(set, "a", "b");
  EXPECT_EQ(causes_of(set), "");
  test::host(set, "a").neighbours.push_back({"10.10.1.254", "eth1", "", "FAILED"});
  EXPECT_EQ(causes_of(set), "neighbour.unresolved@a");
}

// ---- routes ----

struct RefusalRow {
  const char *type, *error;
};

TEST(RouteRules, RoutesThatRefuse) {
  for (const RefusalRow& row : {RefusalRow{"blackhole", "EINVAL"},
                                {"unreachable", "EHOSTUNREACH"},
                                {"prohibit", "EACCES"},
                                {"throw", "ENETUNREACH"}}) {
    EvidenceSet set = star();
    test::host(set, "mini1").routes.push_back(route("10.10.0.2", "", "", row.type));
    test::unroute(set, "mini1", "mini2", row.error);
    const Candidate found = candidate_of(set, "route.missing");
    EXPECT_EQ(found.finding.host, "mini1");
    EXPECT_EQ(found.finding.peer, "mini2");
    EXPECT_EQ(found.finding.remedy.text(), std::string("ip route del ") + row.type + " 10.10.0.2");
    EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
    EXPECT_EQ(test::root_causes(set), "route.missing@mini1");
  }
}

TEST(RouteRules, BlackholeForSomebodyElseIsNotToBlame) {
  EvidenceSet set = star();
  test::host(set, "mini1").routes.push_back(route("10.77.0.0/16", "", "", "blackhole"));
  EXPECT_EQ(causes_of(set), "");
}

TEST(RouteRules, PolicyRuleThatProhibits) {
  EvidenceSet set = star();
  test::host(set, "mini1")
      .policy_rules.push_back(
          {32765, "all", "10.10.0.2", "prohibit", "", "32765: from all to 10.10.0.2 prohibit"});
  test::unroute(set, "mini1", "mini2", "EACCES");
  const Candidate found = candidate_of(set, "route.missing");
  EXPECT_EQ(found.finding.remedy.text(), "ip rule del priority 32765 to 10.10.0.2");
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("prohibit"));
}

TEST(RouteRules, PolicyRuleThatOnlyHitsOurSource) {
  EvidenceSet set = star();
  test::host(set, "mini1")
      .policy_rules.push_back(
          {77, "10.10.0.1", "10.10.0.0/24", "blackhole", "", "77: from 10.10.0.1 ... blackhole"});
  test::unroute(set, "mini1", "mini2", "EINVAL");
  test::pair(set, "mini1", "mini2").routes[0] = {false, "", "unicast", "eth1", "", "", "main"};
  EXPECT_EQ(candidate_of(set, "route.missing").finding.remedy.text(),
            "ip rule del priority 77 from 10.10.0.1 to 10.10.0.0/24");
}

TEST(RouteRules, PolicyRuleToAnotherTable) {
  EvidenceSet set = star();
  HostEvidence& host = test::host(set, "mini1");
  host.policy_rules.push_back({100, "all", "10.10.0.2", "lookup", "123", "100: lookup 123"});
  EXPECT_EQ(causes_of(set), "");
  RouteEvidence other = route("default", "eth0");
  other.table = "123";
  host.routes.push_back(other);
  test::silence(set, "mini1", "mini2");
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.dev = "eth0";
  EXPECT_EQ(candidate_of(set, "route.wrong_interface").finding.remedy.text(),
            "ip rule del priority 100 to 10.10.0.2");
}

TEST(RouteRules, ConnectedRouteIsGone) {
  EvidenceSet set = star();
  auto& routes = test::host(set, "mini1").routes;
  routes.erase(std::remove_if(routes.begin(), routes.end(),
                              [](const RouteEvidence& r) { return r.dev == "eth1"; }),
               routes.end());
  for (const char* peer : {"mini2", "mini3"}) test::unroute(set, "mini1", peer, "ENETUNREACH");
  const Candidate found = candidate_of(set, "route.missing");
  EXPECT_EQ(found.finding.remedy.text(),
            "ip route add 10.10.0.0/24 dev eth1 proto kernel scope link src 10.10.0.1");
  EXPECT_EQ(test::root_causes(set), "route.missing@mini1");
}

TEST(RouteRules, HostRouteThroughAnotherInterface) {
  EvidenceSet set = star();
  test::host(set, "mini1").routes.push_back(route("10.10.0.2", "eth0"));
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.dev = "eth0";
  Candidate found = candidate_of(set, "route.wrong_interface");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn) << "still works";
  EXPECT_TRUE(found.breaks.empty());
  test::silence(set, "mini1", "mini2");
  found = candidate_of(set, "route.wrong_interface");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.finding.remedy.text(), "ip route del 10.10.0.2 dev eth0");
  EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
  EXPECT_EQ(test::root_causes(set), "route.wrong_interface@mini1");
}

TEST(RouteRules, StrictReversePathFilter) {
  EvidenceSet set = star();
  test::host(set, "mini1").routes.push_back(route("10.10.0.2", "eth0", "192.168.7.2"));
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) {
    lookup.dev = "eth0";
    lookup.via = "192.168.7.2";
  }
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(causes_of(set), "route.wrong_interface@mini1");
  test::host(set, "mini2").sysctls["net.ipv4.conf.eth0.rp_filter"] = "1";
  const Candidate found = candidate_of(set, "route.asymmetric");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.finding.host, "mini1");
  EXPECT_EQ(found.finding.remedy.text(), "ip route del 10.10.0.2 via 192.168.7.2 dev eth0");
  EXPECT_THAT(found.finding.evidence[1].text, HasSubstr("rp_filter"));
  EXPECT_EQ(causes_of(set), "route.asymmetric@mini1");
  // 2 is loose: it drops nothing here.
  test::host(set, "mini2").sysctls["net.ipv4.conf.eth0.rp_filter"] = "2";
  EXPECT_EQ(causes_of(set), "route.wrong_interface@mini1");
}

TEST(RouteRules, ThereViaAGatewayBackDirectly) {
  EvidenceSet set = star();
  test::host(set, "mini1").routes.push_back(route("10.10.0.2", "eth1", "10.10.0.254"));
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.via = "10.10.0.254";
  const Candidate found = candidate_of(set, "route.asymmetric");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_EQ(found.finding.remedy.text(), "ip route del 10.10.0.2 via 10.10.0.254 dev eth1");
  for (RouteLookup& lookup : test::pair(set, "mini2", "mini1").routes) lookup.via = "10.10.0.254";
  EXPECT_EQ(causes_of(set), "") << "the same way there and back";
}

TEST(RouteRules, DefaultLeak) {
  EvidenceSet set = star();
  test::host(set, "mini2").routes.push_back(route("default", "eth1", "10.10.0.254"));
  Candidate found = candidate_of(set, "route.default_leak");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_EQ(found.finding.remedy.text(), "ip route del default via 10.10.0.254 dev eth1");
  EXPECT_EQ(causes_of(set), "route.default_leak@mini2");
  for (const char* name : {"mini1", "mini3"}) {
    test::host(set, name).routes.push_back(route("default", "eth1", "10.10.0.254"));
  }
  EXPECT_EQ(causes_of(set), "") << "the way this network is meant to be";
  RouteEvidence office = route("default", "eth0", "192.168.7.254");
  office.metric = 100;
  test::host(set, "mini2").routes.push_back(office);
  EXPECT_EQ(causes_of(set), "route.default_leak@mini2") << "it took over from the office network";
  test::host(set, "mini2").routes[2].metric = 200;
  EXPECT_EQ(causes_of(set), "");
}

}  // namespace
}  // namespace plumbline
