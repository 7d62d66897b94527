// Two Macs on a Thunderbolt bridge, from collect.sh's files to the evidence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/filters/evaluate.h"
#include "probes/sources/collected.h"
#include "probes/sources/source.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const EvidenceSet& two_macs() {
  static const EvidenceSet kSet = [] {
    const auto set = read_evidence_files(
        {test::sample_path("macos/mac1.txt"), test::sample_path("macos/mac2.txt")});
    EXPECT_TRUE(set) << set.error().message();
    return set.value_or(EvidenceSet{});
  }();
  return kSet;
}

const HostEvidence& host_named(const std::string& name) {
  const HostEvidence* host = find_host(two_macs(), name);
  static const HostEvidence kNone;
  EXPECT_NE(host, nullptr) << name;
  return host == nullptr ? kNone : *host;
}

const FilterSource* find_filter(const HostEvidence& host, const std::string& tool) {
  for (const FilterSource& source : host.filter_sources) {
    if (source.tool == tool) return &source;
  }
  return nullptr;
}

TEST(CollectedMacs, WhoTheyAre) {
  const HostEvidence& host = host_named("mac1");
  EXPECT_EQ(host.system, "macos");
  EXPECT_EQ(host.os, "macOS 26.2 (25C56)");
  EXPECT_EQ(host.kernel, "Darwin 25.2.0 arm64");
  EXPECT_EQ(host.hostname, "mac1.local");
  EXPECT_EQ(host.model, "Mac16,11");
  EXPECT_EQ(host.uid, 501);
  EXPECT_EQ(host.descriptors, 256);
  EXPECT_EQ(host.cores_usable, 14);
}

TEST(CollectedMacs, InterfacesAndBridge) {
  for (const char* name : {"mac1", "mac2"}) {
    std::vector<std::string> members;
    for (const InterfaceEvidence& interface : host_named(name).interfaces) {
      if (interface.master != "bridge0") continue;
      members.push_back(interface.name);
      EXPECT_EQ(interface.kind, "thunderbolt");
    }
    EXPECT_THAT(members, ElementsAre("en2", "en3"));
  }
  ASSERT_EQ(two_macs().job.hosts.size(), 2U);
  EXPECT_THAT(two_macs().job.hosts[0].data, ElementsAre("10.10.0.1/24"));
  EXPECT_THAT(two_macs().job.hosts[1].data, ElementsAre("10.10.0.2/24"));
}

TEST(CollectedMacs, RoutesAndNeighbours) {
  const PairEvidence* there = find_pair(two_macs(), "mac1", "mac2");
  const PairEvidence* back = find_pair(two_macs(), "mac2", "mac1");
  ASSERT_NE(there, nullptr);
  ASSERT_NE(back, nullptr);
  EXPECT_FALSE(there->same_machine);
  EXPECT_EQ(there->routes.at(0).dev, "bridge0");
  EXPECT_EQ(there->ping.value().received, 2);
  EXPECT_EQ(there->neighbour.value().kernel_state, "REACHABLE");
  EXPECT_EQ(there->neighbour.value().kernel_mac, "36:00:00:00:02:01");
  EXPECT_EQ(back->neighbour.value().kernel_state, "INCOMPLETE");
  EXPECT_THAT(back->neighbour.value().macs, IsEmpty());
}

TEST(CollectedMacs, Listeners) {
  EXPECT_THAT(host_named("mac2").sockets,
              Contains(::testing::AllOf(::testing::Field(&SocketEvidence::port, 29600),
                                        ::testing::Field(&SocketEvidence::ip, "10.10.0.2"),
                                        ::testing::Field(&SocketEvidence::pid, 412),
                                        ::testing::Field(&SocketEvidence::process, "python3"))));
  for (const SocketEvidence& socket : host_named("mac1").sockets) {
    EXPECT_NE(socket.port, 29600);
    EXPECT_NE(socket.port, 52000);  // somebody's browser is nobody's business
  }
  const PairEvidence* there = find_pair(two_macs(), "mac1", "mac2");
  ASSERT_EQ(there->ports.size(), 2U);
  EXPECT_EQ(there->ports[0].result, "refused");
  EXPECT_EQ(there->ports[1].result, "timeout");
}

TEST(CollectedMacs, FirewallsAndWhatCouldNotBeRead) {
  const FilterSource* denied = find_filter(host_named("mac1"), "pf");
  ASSERT_NE(denied, nullptr);
  EXPECT_TRUE(denied->present);
  EXPECT_FALSE(denied->readable);
  EXPECT_EQ(denied->state, "");
  EXPECT_THAT(host_named("mac1").unreadable, Contains(HasSubstr("pf-info: ")));
  EXPECT_THAT(host_named("mac1").unreadable, Contains(HasSubstr("Permission denied")));
  EXPECT_EQ(find_filter(host_named("mac1"), "alf")->state, "disabled");
  EXPECT_EQ(find_filter(host_named("mac2"), "pf")->state, "enabled");
  EXPECT_TRUE(find_filter(host_named("mac2"), "pf")->readable);
  EXPECT_EQ(find_filter(host_named("mac2"), "alf")->state, "enabled, stealth");
  EXPECT_THAT(host_named("mac2").unreadable, IsEmpty());
  FilterPacket packet;
  packet.source_ip = "10.10.0.1";
  packet.destination_ip = "10.10.0.2";
  packet.interface = "bridge0";
  packet.destination_port = 29600;
  const auto verdicts = evaluate(host_named("mac2").filters, packet);
  ASSERT_FALSE(verdicts.empty());
  EXPECT_EQ(verdicts[0].action, "drop");
  packet.destination_port = 29500;
  EXPECT_TRUE(evaluate(host_named("mac2").filters, packet).empty());
}

TEST(CollectedMacs, TheWholeSetIsEvidence) {
  const auto again = parse_evidence(evidence_text(two_macs()));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->hosts.size(), 2U);
}

}  // namespace
}  // namespace plumbline
