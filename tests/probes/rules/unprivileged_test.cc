// What the rules make of hosts whose agents are nobody in particular: no captures, no filters, no
// ARP of their own, only counters, the socket's word and the kernel's table of neighbours.
#include "diagnosis.h"
#include "host_rule_helpers.h"
#include "packet_stop.h"

namespace plumbline {
namespace {

using test::PacketStop;
using test::Sight;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDenied = "open a packet socket (needs CAP_NET_RAW): Operation not permitted";

EvidenceSet without_root(EvidenceSet set) {
  test::StopModel(set, {}, Sight::kCounters).apply();
  for (PairEvidence& pair : set.pairs) pair.neighbour->method = "kernel";
  return set;
}

// The kernel of `from` gave up on `to`: nothing but requests for its address ever left.
void give_up(EvidenceSet& set, const std::string& from, const std::string& to) {
  test::silence_one_way(set, from, to);
  test::unresolve(set, from, to);
  BurstEvidence burst;
  burst.port = 29500;
  burst.attempts = 40;
  burst.sender = {{"tcp.out_segments", 40}};
  for (const InterfaceEvidence& card : test::host(set, from).interfaces) {
    burst.sender["if." + card.name + ".tx_packets"] = 1;
    burst.sender["if." + card.name + ".rx_packets"] = 0;
  }
  for (const InterfaceEvidence& card : test::host(set, to).interfaces) {
    burst.receiver["if." + card.name + ".rx_packets"] = 0;
    burst.receiver["if." + card.name + ".tx_packets"] = 0;
  }
  burst.receiver["tcp.in_segments"] = 0;
  test::pair(set, from, to).burst = burst;
}

// Matrix, seed 31, port_detached: firewall.drop_outbound on everybody.
TEST(Unprivileged, AHostWhoseNameNobodyResolvesIsNotFiltered) {
  EvidenceSet set = without_root(test::healthy_star(4));
  for (const char* peer : {"mini1", "mini2", "mini4"}) {
    give_up(set, peer, "mini3");
    give_up(set, "mini3", peer);
  }
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini3");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini3"), CheckOutcome::kFail);
  const Finding found = test::candidate_of(set, "neighbour.unresolved").finding;
  EXPECT_EQ(found.peer, "");
  EXPECT_THAT(found.remedy.text(), HasSubstr("filters of mini3 could not all be read"));
}

TEST(Unprivileged, WhereTheFiltersWereReadTheRemedyNamesTheSwitchAlone) {
  EvidenceSet set = test::healthy_star(3);
  for (const char* peer : {"mini1", "mini2"}) give_up(set, peer, "mini3");
  EXPECT_THAT(test::candidate_of(set, "neighbour.unresolved").finding.remedy.text(),
              Not(HasSubstr("could not all be read")));
}

// Matrix, seed 31, arp_lost and ports_isolated.
TEST(Unprivileged, TwoHostsThatDoNotResolveEachOtherAreNotFiltered) {
  EvidenceSet set = without_root(test::healthy_star(4));
  give_up(set, "mini2", "mini4");
  give_up(set, "mini4", "mini2");
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini2");
  EXPECT_EQ(test::candidate_of(set, "neighbour.unresolved").finding.peer, "mini4");
}

// Matrix, seed 31, arp_dropped: the host learns its peers' addresses from their questions, its
// requests arrive, and they cannot answer.
TEST(Unprivileged, WhoCannotAnswerForLackOfAnAddressIsNotFiltered) {
  EvidenceSet set = without_root(test::healthy_star(3));
  for (const char* peer : {"mini1", "mini2"}) {
    give_up(set, peer, "mini3");
    test::silence_one_way(set, "mini3", peer);
    PairEvidence& pair = test::pair(set, "mini3", peer);
    for (PortTry& attempt : pair.ports) attempt.half_open = true;
    BurstEvidence burst;
    burst.port = 29500;
    burst.attempts = 40;
    burst.sender = {{"if.eth1.tx_packets", 40}, {"if.eth1.rx_packets", 0}};
    burst.receiver = {
        {"if.eth1.rx_packets", 40}, {"tcp.in_segments", 40}, {"if.eth1.tx_packets", 0}};
    pair.burst = burst;
  }
  EXPECT_EQ(test::root_causes(set), "neighbour.unresolved@mini3");
}

// Matrix, seed 35, arp_dropped in a mesh: the other end was named.
TEST(Unprivileged, WhoseCardGetsTheAnswersDropsThem) {
  EvidenceSet set = without_root(test::healthy_mesh(3));
  give_up(set, "mini1", "mini2");
  test::silence_one_way(set, "mini2", "mini1");
  const auto named = [&] {
    const Finding found = test::candidate_of(set, "neighbour.unresolved").finding;
    return found.host + ">" + found.peer;
  };
  EXPECT_EQ(named(), "mini2>mini1") << "who is asked and stays silent";
  NeighbourProbe& probe = *test::pair(set, "mini1", "mini2").neighbour;
  probe.asker = {{"tx_packets", 3}, {"rx_packets", 3}};
  probe.asked = {{"tx_packets", 3}, {"rx_packets", 3}};
  EXPECT_EQ(named(), "mini1>mini2");
  EXPECT_THAT(test::candidate_of(set, "neighbour.unresolved").finding.remedy.text(),
              HasSubstr("as root on mini1"));
  // The answers never left, or left and never came; one packet may be anybody's.
  for (const auto& [left, came] : {std::pair(0, 0), std::pair(3, 0), std::pair(1, 1)}) {
    probe.asked["tx_packets"] = left;
    probe.asker["rx_packets"] = came;
    EXPECT_EQ(named(), "mini2>mini1") << left << " " << came;
  }
}

// Near miss: the address is known and nothing leaves all the same.
TEST(Unprivileged, PacketsThatNeverLeaveThoughTheNeighbourIsKnownAreFiltered) {
  EvidenceSet set = test::healthy_star(4);
  test::StopModel(set, {{PacketStop::kOut, "mini3"}}, Sight::kCounters).apply();
  for (PairEvidence& pair : set.pairs) pair.neighbour->method = "kernel";
  EXPECT_EQ(test::root_causes(set), "firewall.drop_outbound@mini3");
}

// Near miss: a kernel that has not given up yet has said nothing.
TEST(Unprivileged, AKernelThatIsStillAskingIsNoEvidence) {
  EvidenceSet set = without_root(test::healthy_star(4));
  for (const char* peer : {"mini1", "mini2", "mini4"}) {
    for (const auto& [from, to] : {std::pair(peer, "mini3"), std::pair("mini3", peer)}) {
      give_up(set, from, to);
      NeighbourProbe& probe = *test::pair(set, from, to).neighbour;
      probe.kernel_state = "INCOMPLETE";
      probe.error = kDenied;
      test::host(set, from).neighbours.clear();
    }
  }
  EXPECT_THAT(test::root_causes(set), Not(HasSubstr("neighbour.unresolved")));
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini3"),
            CheckOutcome::kUnknown);
}

// Matrix, seed 31, cables_crossed.
TEST(Unprivileged, CrossedCablesAreSeenByTheKernelsWord) {
  EvidenceSet set = without_root(test::healthy_mesh(3));
  for (const char* peer : {"mini2", "mini3"}) {
    give_up(set, "mini1", peer);
    test::silence_one_way(set, peer, "mini1");
  }
  EXPECT_EQ(test::root_causes(set), "topology.rail_mismatch@mini1");
}

// ---- the own system's "host unreachable" ----

EvidenceSet refused_at_home(int64_t took_ns) {
  EvidenceSet set = test::healthy_star(3);
  test::StopModel(set, {{PacketStop::kOut, "mini1", {}, set.job.ports, "icmp"}}, Sight::kWord)
      .apply();
  for (PairEvidence& pair : set.pairs) {
    pair.neighbour->method = "kernel";
    if (pair.from != "mini1") continue;
    for (PortTry& attempt : pair.ports) {
      attempt.took_ns = took_ns;
      attempt.icmp->code = 1;
      attempt.icmp->text = "host unreachable";
    }
  }
  return set;
}
void set_word(EvidenceSet& set, const std::string& state, const std::string& error) {
  for (const char* peer : {"mini2", "mini3"}) {
    NeighbourProbe& probe = *test::pair(set, "mini1", peer).neighbour;
    probe.macs.clear();
    probe.kernel_mac.clear();
    probe.kernel_state = state;
    probe.error = error;
  }
}

// Matrix, seed 31, reject_outbound: nothing was said at all.
TEST(Unprivileged, AHostUnreachableOfTheOwnHostIsAFilterWhereThePeerAnswersOnTheLink) {
  const EvidenceSet set = refused_at_home(test::kMilli);
  const std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
  ASSERT_EQ(test::named(findings), std::vector<std::string>{"firewall.reject_icmp mini1"});
}

TEST(Unprivileged, AHostUnreachableAtOnceIsAFilterThoughTheKernelAskedNobody) {
  EvidenceSet set = refused_at_home(test::kMilli);
  set_word(set, "", kDenied);
  EXPECT_EQ(test::root_causes(set), "firewall.reject_icmp@mini1");
}

TEST(Unprivileged, AHostUnreachableAfterSecondsMayBeALackOfNeighbours) {
  EvidenceSet set = refused_at_home(3000 * test::kMilli);
  set_word(set, "", kDenied);
  EXPECT_THAT(test::root_causes(set), Not(HasSubstr("firewall")));
}

TEST(Unprivileged, AHostUnreachableAtOnceIsNoFilterWhereTheKernelGaveUpBefore) {
  EvidenceSet set = refused_at_home(test::kMilli);
  set_word(set, "FAILED", "");
  EXPECT_THAT(test::root_causes(set), Not(HasSubstr("firewall")));
  // The answer came to our own question, and the kernel never got it.
  for (const char* peer : {"mini2", "mini3"}) {
    test::pair(set, "mini1", peer).neighbour->macs = {"02:00:00:00:00:09"};
  }
  EXPECT_THAT(test::root_causes(set), Not(HasSubstr("firewall")));
}

}  // namespace
}  // namespace plumbline
