// Some ports of the job blocked on one host is firewall.partial_range, whatever else is wrong: a
// fault of another host that keeps the rest of a pair's ports from being open turned it into
// drop_inbound of just these ports.
#include <fmt/format.h>
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
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<int> kWindow = {29500, 29600, 29601, 29602, 29603};

struct Part {
  const char* name;
  PacketStop stop;
};
const std::vector<Part>& parts() {
  static const std::vector<Part> kParts = {
      {"a port", {kIn, "mini2", {}, {29601}}},
      {"all but the master port", {kIn, "mini2", {}, {29600, 29601, 29602, 29603}}},
      {"ports, refused by ICMP", {kIn, "mini2", {}, {29601, 29602}, "icmp"}},
      {"ports, refused by RST", {kIn, "mini2", {}, {29601, 29602}, "rst"}},
      {"ports, from the peer with the other fault", {kIn, "mini2", {"mini3"}, {29601, 29602}}},
  };
  return kParts;
}

// What is wrong beside it, as filters see it.
struct Beside {
  const char* name;
  PacketStop stop;
  const char* expected;
};
const std::vector<Beside>& beside() {
  static const std::vector<Beside> kBeside = {
      {"in, everything", {kIn, "mini3"}, "firewall.drop_inbound mini3"},
      {"in, the window", {kIn, "mini3", {}, kWindow}, "firewall.drop_inbound mini3"},
      {"in, from the host", {kIn, "mini3", {"mini2"}}, "firewall.drop_inbound mini3>mini2"},
      {"in, without a rule", {kIn, "mini3", {}, {}, "drop", false}, "firewall.drop_inbound mini3"},
      {"out, everything", {kOut, "mini3"}, "firewall.drop_outbound mini3"},
      {"out, the window", {kOut, "mini3", {}, kWindow}, "firewall.drop_outbound mini3"},
      {"out, to the host", {kOut, "mini3", {"mini2"}}, "firewall.drop_outbound mini3>mini2"},
      {"lost from the host", {kBetween, "mini2", {"mini3"}}, "firewall.drop_path mini2>mini3"},
      {"lost to the host", {kBetween, "mini3", {"mini2"}}, "firewall.drop_path mini3>mini2"},
      {"in, refused by ICMP", {kIn, "mini3", {}, kWindow, "icmp"}, "firewall.reject_icmp mini3"},
      {"in, refused by RST", {kIn, "mini3", {}, kWindow, "rst"}, "firewall.reject_rst mini3"},
      {"another part", {kIn, "mini3", {}, {29602}}, "firewall.partial_range mini3"},
  };
  return kBeside;
}

// Every block of mini2 must be called partial; what its peers do is theirs.
void expect_partial(const std::vector<std::string>& found, const std::string& what) {
  EXPECT_THAT(found, Contains(StartsWith("firewall.partial_range mini2"))) << what;
  for (const std::string& cause : found) {
    const bool other = cause.rfind("firewall.", 0) == 0 &&
                       cause.find(" mini2") != std::string::npos &&
                       cause.find("partial_range") == std::string::npos &&
                       cause.find("drop_path") == std::string::npos;
    EXPECT_FALSE(other) << what << ": " << cause;
  }
}

TEST(PartialRangeBeside, AFilterElsewhereItKeepsItsName) {
  for (const Sight sight : {Sight::kAll, Sight::kCaptures}) {
    for (const Part& part : parts()) {
      for (const Beside& other : beside()) {
        const std::string what =
            fmt::format("{} beside {}, sight {}", part.name, other.name, static_cast<int>(sight));
        // Only rules tell of packets that never come so far.
        const bool hidden = !part.stop.peers.empty() &&
                            (other.stop.where == kOut || other.expected == beside()[8].expected);
        if (sight == Sight::kCaptures && hidden) continue;
        EvidenceSet set = test::healthy_star(4);
        test::StopModel(set, {part.stop, other.stop}, sight).apply();
        const std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
        const std::vector<std::string> found = named(findings);
        expect_partial(found, what);
        EXPECT_THAT(found, Contains(StartsWith(other.expected))) << what;
        EXPECT_EQ(found.size(), 2u) << what << ": " << testing::PrintToString(found);
        for (const Finding& finding : findings) {
          if (finding.cause != "firewall.partial_range" || finding.host != "mini2") continue;
          EXPECT_EQ(finding.ports, part.stop.ports) << what;
        }
      }
    }
  }
}

// Without root no filter can be read and nothing captured: never a wrong name, and never none.
TEST(PartialRangeBeside, WithoutRootItIsNoPlainDropEither) {
  for (const Sight sight : {Sight::kCounters, Sight::kWord}) {
    for (const Part& part : parts()) {
      if (!part.stop.peers.empty()) continue;
      for (const Beside& other : beside()) {
        // Without any sign of where, a drop on the way to one host looks like one by that host.
        const std::string second = other.expected;
        const bool told_as_inbound = second.find("mini3>mini2") != std::string::npos &&
                                     second.find("drop_inbound") == std::string::npos;
        if (sight == Sight::kWord && told_as_inbound) continue;
        EvidenceSet set = test::healthy_star(4);
        test::StopModel(set, {part.stop, other.stop}, sight).apply();
        expect_partial(
            named(find_causes(set, test::pair_checks(set))),
            fmt::format("{} beside {}, sight {}", part.name, other.name, static_cast<int>(sight)));
      }
    }
  }
}

// Faults that are no filters, on the other host or between the two.
struct Spoiler {
  const char* name;
  void (*spoil)(EvidenceSet& set);
};

PortTry untried(int port) {
  PortTry attempt;
  attempt.port = port;
  return attempt;
}

void forget_captures(PairEvidence& pair) {
  for (PortTry& attempt : pair.ports) {
    attempt.captured_here = attempt.captured_there = attempt.half_open = false;
    attempt.here.reset();
    attempt.there.reset();
  }
}

const std::vector<Spoiler>& spoilers() {
  static const std::vector<Spoiler> kSpoilers = {
      {"link down",
       [](EvidenceSet& set) {
         test::silence_host(set, "mini3");
         test::nic(set, "mini3", "eth1").up = false;
         for (const char* peer : {"mini1", "mini2", "mini4"}) test::unresolve(set, peer, "mini3");
       }},
      {"no signal",
       [](EvidenceSet& set) {
         test::silence_host(set, "mini3");
         test::nic(set, "mini3", "eth1").carrier = false;
       }},
      {"no route to the host",
       [](EvidenceSet& set) { test::unroute(set, "mini3", "mini2", "ENETUNREACH"); }},
      {"blackhole to the host",
       [](EvidenceSet& set) {
         test::silence(set, "mini3", "mini2");
         for (RouteLookup& lookup : test::pair(set, "mini3", "mini2").routes) {
           lookup.type = "blackhole";
         }
       }},
      {"no neighbour",
       [](EvidenceSet& set) {
         test::silence(set, "mini3", "mini2");
         test::unresolve(set, "mini3", "mini2");
       }},
      {"wrong neighbour",
       [](EvidenceSet& set) {
         test::silence(set, "mini3", "mini2");
         test::pair(set, "mini3", "mini2").neighbour->kernel_mac = "02:ff:ff:ff:ff:ff";
         for (NeighbourEvidence& entry : test::host(set, "mini3").neighbours) {
           if (entry.ip != "10.10.0.2") continue;
           entry.mac = "02:ff:ff:ff:ff:ff";
           entry.state = "PERMANENT";
         }
       }},
      {"address missing",
       [](EvidenceSet& set) {
         test::silence_host(set, "mini3");
         test::nic(set, "mini3", "eth1").addresses.clear();
       }},
      {"agent lost",
       [](EvidenceSet& set) {
         HostEvidence& host = test::host(set, "mini3");
         host = HostEvidence{};
         host.name = "mini3";
         host.agent_cause = "rank.agent_lost";
         for (PairEvidence& pair : set.pairs) {
           if (pair.from != "mini3" && pair.to != "mini3") continue;
           for (PortTry& attempt : pair.ports) attempt = untried(attempt.port);
           forget_captures(pair);
           if (pair.to == "mini3") {
             for (PortTry& attempt : pair.ports) attempt.result = "refused";
           }
           pair.mtu.reset();
           pair.quality.reset();
         }
       }},
      {"wrong MTU",
       [](EvidenceSet& set) {
         test::nic(set, "mini3", "eth1").mtu = 1400;
         for (PairEvidence& pair : set.pairs) {
           if ((pair.from == "mini3" || pair.to == "mini3") && pair.mtu) {
             pair.mtu->largest_delivered = 1400;
           }
         }
       }},
      {"loss",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.from != "mini3" || !pair.quality) continue;
           for (StreamEvidence& stream : pair.quality->streams) {
             if (stream.kind != "paced") continue;
             stream.segments_out = 1000;
             stream.segments_in = 930;
             stream.retransmitted = 70;
           }
         }
       }},
      {"a slow link",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if ((pair.from != "mini3" && pair.to != "mini3") || !pair.quality) continue;
           for (StreamEvidence& stream : pair.quality->streams) stream.bytes /= 10;
         }
       }},
      {"no pings",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.to != "mini3" && pair.to != "mini2") continue;
           pair.ping->received = 0;
           pair.ping->rtt_ns.clear();
         }
       }},
      {"held ports of the other host",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.to != "mini3") continue;
           for (PortTry& attempt : pair.ports) {
             attempt.listener = "in_use";
             attempt.holder = "PID 7 (redis)";
             attempt.answer = "stranger";
           }
         }
       }},
      {"held: every port that is open",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.to != "mini2") continue;
           for (PortTry& attempt : pair.ports) {
             if (attempt.result != "connected") continue;
             attempt.listener = "in_use";
             attempt.holder = "PID 7 (redis)";
             attempt.answer = "stranger";
           }
         }
       }},
      {"a wrong service on every port that is open",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.to != "mini2") continue;
           for (PortTry& attempt : pair.ports) {
             if (attempt.result != "connected") continue;
             attempt.accepted = false;
             attempt.answer = "stranger";
           }
         }
       }},
      {"no listener on any other port",
       [](EvidenceSet& set) {
         for (PairEvidence& pair : set.pairs) {
           if (pair.to != "mini2") continue;
           for (PortTry& attempt : pair.ports) {
             if (attempt.result != "connected") continue;
             attempt = untried(attempt.port);
             attempt.result = "refused";
             attempt.listener = "failed";
           }
         }
       }},
  };
  return kSpoilers;
}

TEST(PartialRangeBeside, AnotherFaultItKeepsItsName) {
  for (const Sight sight : {Sight::kAll, Sight::kCaptures}) {
    for (const bool reversed : {false, true}) {
      for (const Spoiler& spoiler : spoilers()) {
        // A host that is cut off never sends what the rule or the wire would show, and one that is
        // there does not know mini3's packets.
        EvidenceSet set = test::healthy_star(4);
        const std::vector<int> ports =
            reversed ? std::vector<int>{29500, 29600, 29602, 29603} : std::vector<int>{29601};
        test::StopModel(set, {{kIn, "mini2", {}, ports}}, sight).apply();
        spoiler.spoil(set);
        const std::string what = fmt::format("{}, {} ports, sight {}", spoiler.name, ports.size(),
                                             static_cast<int>(sight));
        const std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
        expect_partial(named(findings), what);
        for (const Finding& finding : findings) {
          if (finding.cause != "firewall.partial_range") continue;
          EXPECT_EQ(finding.host, "mini2") << what;
          EXPECT_EQ(finding.ports, ports) << what;
        }
      }
    }
  }
}

// The other way round: a filter that stops the whole window stays the plain cause.
TEST(PartialRangeBeside, AFilterOfAllPortsIsNoPart) {
  for (const Sight sight : {Sight::kAll, Sight::kCaptures, Sight::kCounters, Sight::kWord}) {
    for (const Beside& other : beside()) {
      EvidenceSet set = test::healthy_star(4);
      test::StopModel(set, {{kIn, "mini2", {}, kWindow}, other.stop}, sight).apply();
      for (const std::string& cause : named(find_causes(set, test::pair_checks(set)))) {
        EXPECT_THAT(cause, testing::Not(HasSubstr("partial_range mini2")))
            << other.name << ", sight " << static_cast<int>(sight);
      }
    }
    for (const Spoiler& spoiler : spoilers()) {
      EvidenceSet set = test::healthy_star(4);
      test::StopModel(set, {{kIn, "mini2", {}, kWindow}}, sight).apply();
      spoiler.spoil(set);
      for (const std::string& cause : named(find_causes(set, test::pair_checks(set)))) {
        EXPECT_THAT(cause, testing::Not(HasSubstr("partial_range")))
            << spoiler.name << ", sight " << static_cast<int>(sight);
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
