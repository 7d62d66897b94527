// From a plan to what the ladder tries, and from what it saw to causes.
#include "probes/stacks/stack_job.h"

#include <gmock/gmock.h>

#include "probes/evidence_query.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "stack_builder.h"

namespace plumbline {
namespace {

using test::ask_stack;
using test::plan_stack;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

FilterRule drops(const std::string& ports) {
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "t";
  rule.chain = "input";
  rule.hook = "input";
  rule.handle = 4;
  rule.action = "drop";
  rule.matches = {{"protocol", false, {"tcp"}}, {"dport", false, {ports}}};
  return rule;
}

TEST(SamplePorts, StandForTheWholeRange) {
  const HostEvidence host = test::make_host("a");
  const auto samples = sample_ports({host}, host, 32768, 60999);
  ASSERT_THAT(samples, SizeIs(4));
  for (const PortSample& sample : samples) {
    EXPECT_EQ(sample.first, 32768);
    EXPECT_EQ(sample.last, 60999);
    EXPECT_GE(sample.port, 32768);
    EXPECT_LE(sample.port, 60999);
  }
}

TEST(SamplePorts, AreCutWhereRulesSpeakOfPorts) {
  HostEvidence host = test::make_host("a"), peer = test::make_host("b");
  peer.filters = {drops("40000-49999"), drops("22"), drops("50000")};
  const auto samples = sample_ports({host, peer}, host, 32768, 60999);
  std::set<std::pair<int, int>> parts;
  for (const PortSample& sample : samples) parts.insert({sample.first, sample.last});
  EXPECT_THAT(parts, ElementsAre(std::pair(32768, 39999), std::pair(40000, 49999),
                                 std::pair(50000, 50000), std::pair(50001, 60999)));
}

TEST(SamplePorts, AvoidWhatIsInUseAndOddRanges) {
  HostEvidence host = test::make_host("a");
  SocketEvidence taken;
  taken.port = 5000;
  host.sockets = {taken};
  EXPECT_THAT(sample_ports({host}, host, 5000, 5000), IsEmpty());
  EXPECT_THAT(sample_ports({host}, host, 0, 0), IsEmpty());
  EXPECT_THAT(sample_ports({host}, host, 9, 3), IsEmpty());
  EXPECT_EQ(sample_ports({host}, host, 4999, 5001).at(0).port, 5001);
  for (int port = 1000; port < 1400; port += 2) host.filters.push_back(drops(std::to_string(port)));
  EXPECT_LE(sample_ports({host}, host, 1000, 1400).size(), kMostSamples);
}

EvidenceSet planned(EvidenceSet set, const StackEnvironment& environment = {}) {
  set.stack = plan_stack("torch-gloo", ask_stack(set, environment));
  set.job = job_of_stack(set);
  return set;
}

TEST(StackJob, HasTheAddressesAndPortsOfThePlan) {
  const EvidenceSet set =
      planned(test::healthy_star(3), {{"GLOO_SOCKET_IFNAME", "eth0"}, {"MASTER_PORT", "23456"}});
  EXPECT_THAT(set.job.hosts[1].data, ElementsAre("192.168.7.2/24"));
  EXPECT_EQ(set.job.hosts[1].interface, "eth0");
  EXPECT_EQ(set.job.master_port, 23456);
  EXPECT_THAT(*set.job.hosts[0].ports, Contains(23456));
  EXPECT_THAT(*set.job.hosts[1].ports, testing::Not(Contains(23456)));
  // gloo's pairs: the higher address calls.
  EXPECT_THAT(ports_between(set.job, "mini2", "mini1"), SizeIs(5));
  EXPECT_THAT(ports_between(set.job, "mini1", "mini2"), IsEmpty());
  EXPECT_THAT(ports_between(set.job, "mini3", "mini2"), SizeIs(4));
  EXPECT_THAT(*set.job.hosts[2].ports, IsEmpty());  // nobody calls the highest address
  EXPECT_THAT(ports_between(set.job, "mini1", "mini3"), IsEmpty());
  EXPECT_EQ(range_of(set.job, "mini2", set.job.hosts[1].samples.at(0).port),
            std::pair(32768, 60999));
}

TEST(StackJob, LoopbackBetweenMachinesLeavesTheFilesAddress) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[1].names[0].v4 = {"127.0.1.1"};
  EXPECT_THAT(planned(set).job.hosts[1].data, ElementsAre("10.10.0.2/24"));
}

TEST(StackJob, AnAddressThatAllHaveIsNotTried) {
  EvidenceSet set = test::healthy_star(2);
  test::add_docker(set);
  const EvidenceSet docker = planned(set, {{"GLOO_SOCKET_IFNAME", "docker0"}});
  EXPECT_EQ(docker.stack->ranks[0].ip, "172.17.0.1");
  EXPECT_THAT(docker.job.hosts[0].data, ElementsAre("10.10.0.1/24"));
}

// ---- what the ladder saw ----

// The evidence again, as if the job's ports had been tried between its addresses.
EvidenceSet tried(EvidenceSet set) {
  set.pairs.clear();
  for (const JobHost& from : set.job.hosts) {
    for (const JobHost& to : set.job.hosts) {
      if (from.name == to.name) continue;
      const std::string ip = test::ip_of(from.data.at(0));
      const InterfaceEvidence* egress = interface_of(*find_host(set, from.name), ip);
      const InterfaceEvidence* ingress =
          interface_of(*find_host(set, to.name), test::ip_of(to.data.at(0)));
      set.pairs.push_back(test::healthy_pair(from.name, ip, to.name, test::ip_of(to.data.at(0)),
                                             ports_between(set.job, from.name, to.name), *egress,
                                             ingress->mac));
    }
  }
  return set;
}

std::vector<std::string> found_in(const EvidenceSet& set) {
  std::vector<std::string> out;
  for (const Finding& finding : judge_evidence(set).findings) {
    out.push_back(finding.cause + " " + to_string(finding.outcome) + " " + finding.host);
  }
  return out;
}

TEST(StackLadder, AHealthyPlanHasNoFinding) {
  EXPECT_THAT(found_in(tried(planned(test::healthy_star(3)))), IsEmpty());
}

TEST(StackLadder, AnotherInterfaceThatLeadsNowhereIsTheCause) {
  EvidenceSet set = tried(planned(test::healthy_star(2), {{"GLOO_SOCKET_IFNAME", "eth0"}}));
  EXPECT_THAT(found_in(set),
              ElementsAre("stack.interface warn mini1", "stack.interface warn mini2"));
  test::silence(set, "mini1", "mini2");
  const ProbeResult result = judge_evidence(set);
  ASSERT_THAT(result.findings, Not(IsEmpty()));
  for (const Finding& finding : result.findings) EXPECT_EQ(finding.cause, "stack.interface");
  EXPECT_THAT(result.findings[0].remedy.text(), testing::HasSubstr("GLOO_SOCKET_IFNAME=eth1"));
}

TEST(StackLadder, ClosedEphemeralPortsAreOpenedAsARange) {
  EvidenceSet base = test::healthy_star(2);
  base.hosts[0].filters = {drops("32768-60999")};
  EvidenceSet set = tried(planned(base));
  for (const PortSample& sample : set.job.hosts[0].samples) {
    PortTry& attempt = test::port_try(set, "mini2", "mini1", sample.port);
    attempt = PortTry{};
    attempt.port = sample.port;
    attempt.listener = "up";
    attempt.result = "timeout";
    attempt.error = "ETIMEDOUT";
  }
  const ProbeResult result = judge_evidence(set);
  ASSERT_THAT(result.findings, SizeIs(1));
  EXPECT_EQ(result.findings[0].cause, "firewall.partial_range");
  EXPECT_EQ(result.findings[0].host, "mini1");
  EXPECT_THAT(result.findings[0].remedy.text(), testing::HasSubstr("32768-60999"));
  // The other way nobody calls, so the same rule there is no fault.
  base.hosts[0].filters.clear();
  base.hosts[1].filters = {drops("32768-60999")};
  EXPECT_THAT(found_in(tried(planned(base))), IsEmpty());
}

TEST(StackLadder, OwnNamesAreJudgedByThePlanAlone) {
  EvidenceSet set = test::healthy_star(2);
  set.hosts[1].names[0].v4 = {"127.0.1.1"};
  set.stack = plan_stack("nccl", ask_stack(set));
  set.job = job_of_stack(set);
  for (const std::string& cause : found_in(tried(set))) {
    EXPECT_EQ(cause.find("name."), std::string::npos) << cause;
  }
}

TEST(StackProbe, SaysNothingWithoutAPlan) {
  EXPECT_THAT(judge_stack(test::healthy_star(2), {}), IsEmpty());
  EXPECT_THAT(judge_stack(planned(test::healthy_star(2)), {}),
              Each(testing::Field(&Check::outcome, CheckOutcome::kPass)));
}

}  // namespace
}  // namespace plumbline
