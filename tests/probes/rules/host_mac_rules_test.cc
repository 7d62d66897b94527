// What does not fit together on Macs with a device matrix, beside their cables: releases, addresses
// that macOS gave itself, the coordinator's address, low power mode.
#include <gmock/gmock.h>

#include "host_rule_helpers.h"
#include "probes/rules/host_readiness.h"
#include "tests/support/paper_macs.h"

namespace plumbline {
namespace {

using test::PaperCluster;
using testing::HasSubstr;
using testing::Not;

// Two Macs and a cable, whose devices the host file names; of mac1 the port has this address.
PaperCluster pair_with(const std::string& ip) {
  PaperCluster out = test::paper_pair();
  test::give_addresses(out);
  out.macs[0].socket(1).ip = ip;
  return out;
}
EvidenceSet matrix_of(const PaperCluster& cluster) {
  EvidenceSet set = cluster.evidence();
  set.job.file = "hosts.json";
  set.job.rdma = true;
  set.job.hosts[0].rdma_devices = {"rdma_en2"};
  set.job.hosts[0].rdma_towards["mac2"] = {"rdma_en2"};
  set.job.hosts[1].rdma_devices = {"rdma_en4"};
  set.job.hosts[1].rdma_towards["mac1"] = {"rdma_en4"};
  return set;
}

// ---- releases ----

EvidenceSet macs_with(const std::vector<std::string>& systems) {
  PaperCluster cluster(systems.size());
  EvidenceSet set = cluster.evidence();
  for (size_t i = 0; i < systems.size(); ++i) set.hosts[i].os = systems[i];
  set.job.rdma = true;
  return set;
}
std::string causes_with(const std::vector<std::string>& systems) {
  return test::causes_of(propose_releases(macs_with(systems), {}));
}

TEST(MacReleases, TheOlderOneIsNamedWithBothEnds) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[1].version = "26.2";
  cluster.macs[1].build = "25C56";
  const Candidates found = propose_releases(matrix_of(cluster), {});
  ASSERT_EQ(found.size(), 1u);
  const Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause + "@" + finding.host, "config.version_mismatch@mac2");
  EXPECT_EQ(finding.outcome, Severity::kFail);
  ASSERT_EQ(finding.evidence.size(), 2u);
  EXPECT_EQ(finding.evidence[0].host, "mac2");
  EXPECT_THAT(finding.evidence[0].text,
              HasSubstr("macOS 26.2 (25C56): JACCL sends frames of 4 KiB"));
  EXPECT_EQ(finding.evidence[1].host, "mac1");
  EXPECT_THAT(finding.evidence[1].text, HasSubstr("512 KiB"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("softwareupdate -l"));
  EXPECT_TRUE(finding.remedy.commands().empty());
}

TEST(MacReleases, OnlyAcrossTheBorderOf263) {
  EXPECT_EQ(causes_with({"macOS 26.3 (25D125)", "macOS 26.3.1 (25D130)"}), "");
  EXPECT_EQ(causes_with({"macOS 26.2 (25C56)", "macOS 26.2.1"}), "");
  EXPECT_EQ(causes_with({"macOS 26.4", "macOS 27.0"}), "");
  EXPECT_EQ(causes_with({"macOS 26.2.9", "macOS 26.10"}), "config.version_mismatch@mac1");
  EXPECT_EQ(causes_with({"macOS 27", "macOS 26.2", "macOS 15.7.1"}),
            "config.version_mismatch@mac2 config.version_mismatch@mac3");
  const Candidates old = propose_releases(macs_with({"macOS 26.3", "macOS 15.7"}), {});
  ASSERT_EQ(old.size(), 1u);
  EXPECT_THAT(old[0].finding.evidence[0].text, HasSubstr("comes with macOS 26.2"));
}

TEST(MacReleases, NothingWithoutRdmaOrWithoutARelease) {
  EvidenceSet set = macs_with({"macOS 26.2", "macOS 26.3"});
  set.job.rdma_or_tcp = true;
  EXPECT_EQ(propose_releases(set, {}).at(0).finding.outcome, Severity::kWarn);
  set.job.rdma = false;
  EXPECT_TRUE(propose_releases(set, {}).empty());
  for (const char* os : {"", "macOS", "macOS ", "macOS x", "macOS 26.", "macOS -1.2", "macOS 26.x",
                         "macOS 99999999999.1", "Debian GNU/Linux 12", "Mac OS X 10.15"}) {
    EXPECT_EQ(causes_with({os, "macOS 26.3"}), "") << os;
  }
  EvidenceSet linux = macs_with({"macOS 26.2", "macOS 26.3"});
  linux.hosts[0].system = "linux";
  EXPECT_TRUE(propose_releases(linux, {}).empty());
  linux.hosts.clear();
  EXPECT_TRUE(propose_releases(linux, {}).empty());
}

// ---- addresses that macOS gave itself ----

TEST(SelfAssignedAddress, BehindADeviceOfTheMatrixIsAWarning) {
  const EvidenceSet set = matrix_of(pair_with("169.254.17.4/16"));
  const Candidates found = propose_self_assigned(set, {});
  ASSERT_EQ(found.size(), 1u);
  const Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause + "@" + finding.host, "ip.link_local_only@mac1");
  EXPECT_EQ(finding.outcome, Severity::kWarn);
  EXPECT_THAT(finding.evidence.at(0).text, HasSubstr("rdma_en2 over en2"));
  EXPECT_THAT(finding.evidence.at(0).text, HasSubstr("169.254.17.4"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("plumbline hosts discover"));
  EXPECT_TRUE(finding.remedy.commands().empty()) << "no address is known";
  EXPECT_TRUE(found[0].breaks.empty());
  std::vector<std::string> by_table;
  for (const RankedCandidate& one : proposals(host_rules(), set, {})) {
    by_table.push_back(one.candidate.finding.cause + "@" + one.candidate.finding.host);
  }
  EXPECT_THAT(by_table, testing::Contains("ip.link_local_only@mac1"));
}

TEST(SelfAssignedAddress, NothingWhereTheAddressLastsOrNobodyNeedsIt) {
  const auto causes = [](const EvidenceSet& set) {
    return test::causes_of(propose_self_assigned(set, {}));
  };
  EXPECT_EQ(causes(matrix_of(pair_with("10.7.0.1/30"))), "");
  EXPECT_EQ(causes(matrix_of(pair_with(""))), "") << "no address is rdma.no_gid";
  EvidenceSet set = matrix_of(pair_with("169.254.17.4/16"));
  ASSERT_NE(causes(set), "");
  EvidenceSet other = set;
  other.job.hosts[0].rdma_devices = {"rdma_en3"};
  other.job.hosts[0].rdma_towards.clear();
  EXPECT_EQ(causes(other), "") << "another device is meant";
  other = set;
  other.job.hosts[0].data = {"169.254.17.4/16"};
  EXPECT_EQ(causes(other), "") << "named on purpose";
  other = set;
  other.hosts[0].system = "linux";
  EXPECT_EQ(causes(other), "");
  other = set;
  other.hosts[0].rdma.reset();
  EXPECT_EQ(causes(other), "");
  other = set;
  for (InterfaceEvidence& port : other.hosts[0].interfaces) {
    if (port.name == "en2") port.carrier = false;
  }
  EXPECT_EQ(causes(other), "") << "the cable is the matter";
}

TEST(SelfAssignedAddress, TheTableOfGidsDecidesWhereItIsKnown) {
  EvidenceSet set = matrix_of(pair_with("169.254.17.4/16"));
  for (RdmaDevice& device : set.hosts[0].rdma->devices) {
    if (device.name == "rdma_en2") device.gids = {"fe80::1"};
  }
  EXPECT_TRUE(propose_self_assigned(set, {}).empty());
  for (RdmaDevice& device : set.hosts[0].rdma->devices)
    device.gids.push_back("::ffff:169.254.17.4");
  EXPECT_EQ(propose_self_assigned(set, {}).size(), 1u);
}

// The address of the host file was macOS' own, and is another one now.
TEST(SelfAssignedAddress, OneThatChangedIsTold) {
  EvidenceSet set = matrix_of(pair_with("169.254.99.8/16"));
  set.job.hosts[0].data = {"169.254.17.4/16"};
  set.job.hosts[0].interface = "en2";
  const Candidates found = propose_absent(set, {});
  ASSERT_EQ(test::causes_of(found), "ip.link_local_only@mac1");
  EXPECT_EQ(found[0].finding.outcome, Severity::kFail);
  EXPECT_THAT(found[0].finding.evidence.at(0).text,
              HasSubstr("169.254.17.4 is not on this host; en2 has 169.254.99.8/16"));
  EXPECT_THAT(found[0].finding.remedy.text(), HasSubstr("addresses of 169.254/16 change"));
  EXPECT_THAT(found[0].finding.remedy.text(), HasSubstr("plumbline hosts discover"));
  // Of an address that lasts nothing of the kind is said.
  set.job.hosts[0].data = {"10.7.0.1/30"};
  const Candidates lasting = propose_absent(set, {});
  ASSERT_EQ(test::causes_of(lasting), "ip.link_local_only@mac1");
  EXPECT_THAT(lasting[0].finding.remedy.text(), Not(HasSubstr("169.254/16 change")));
}

// ---- where rank 0 coordinates ----

TEST(Coordinator, OnTheFirstHostIsSound) {
  EvidenceSet set = matrix_of(test::paper_pair());
  EXPECT_TRUE(propose_coordinator(set, {}).empty());
  set.job.coordinator = "192.168.4.11";
  EXPECT_TRUE(propose_coordinator(set, {}).empty());
}

TEST(Coordinator, OnAnotherHostIsNamedThere) {
  EvidenceSet set = matrix_of(test::paper_pair());
  set.job.coordinator = "192.168.4.12";
  const Candidates found = propose_coordinator(set, {});
  ASSERT_EQ(found.size(), 1u);
  const Finding& finding = found[0].finding;
  EXPECT_EQ(finding.cause + "@" + finding.host, "ip.missing@mac1");
  EXPECT_EQ(finding.outcome, Severity::kFail);
  EXPECT_THAT(finding.evidence.at(0).text,
              HasSubstr("rank 0 would listen on 192.168.4.12, the coordinator of the host file, "
                        "which is no address of mac1 (bind fails with errno 49)"));
  EXPECT_EQ(finding.evidence.at(1).host, "mac2");
  EXPECT_THAT(finding.evidence.at(1).text, HasSubstr("mac2 has it, on en0"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("write the host file anew"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("put mac2 first"));
  EXPECT_TRUE(finding.remedy.commands().empty());
  set.job.rdma_or_tcp = true;
  EXPECT_EQ(propose_coordinator(set, {}).at(0).finding.outcome, Severity::kWarn);
}

TEST(Coordinator, OnNoHostIsSaid) {
  EvidenceSet set = matrix_of(test::paper_pair());
  set.job.coordinator = "192.168.4.99";
  EXPECT_THAT(propose_coordinator(set, {}).at(0).finding.evidence.at(1).text,
              HasSubstr("no host that was asked has 192.168.4.99"));
  set.hosts[0].system = "linux";
  EXPECT_THAT(propose_coordinator(set, {}).at(0).finding.evidence.at(0).text,
              HasSubstr("errno 99"));
}

TEST(Coordinator, NothingIsSaidOfWhatIsNotKnown) {
  const EvidenceSet sound = matrix_of(test::paper_pair());
  for (const char* text : {"", "mac2.local", "192.168.4", "192.168.4.99:32323", "0.0.0.0",
                           "::", "127.0.0.1", "::1", "-x", "192.168.4.99; reboot"}) {
    EvidenceSet set = sound;
    set.job.coordinator = text;
    EXPECT_TRUE(propose_coordinator(set, {}).empty()) << text;
  }
  EvidenceSet set = sound;
  set.job.coordinator = "192.168.4.99";
  ASSERT_FALSE(propose_coordinator(set, {}).empty());
  EvidenceSet other = set;
  other.stack.emplace();
  EXPECT_TRUE(propose_coordinator(other, {}).empty()) << "its model says what it takes";
  other = set;
  other.hosts[0].interfaces.clear();
  EXPECT_TRUE(propose_coordinator(other, {}).empty());
  other = set;
  other.hosts.clear();
  EXPECT_TRUE(propose_coordinator(other, {}).empty());
  other.job.hosts.clear();
  EXPECT_TRUE(propose_coordinator(other, {}).empty());
}

TEST(Coordinator, StaysInTheEvidence) {
  EvidenceSet set = matrix_of(test::paper_pair());
  set.job.coordinator = "192.168.4.12";
  set.hosts[0].started_by = {"plumbline", "zsh", "launchd"};
  const auto again = parse_evidence(evidence_text(set));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->job.coordinator, "192.168.4.12");
  EXPECT_EQ(again->hosts[0].started_by, set.hosts[0].started_by);
}

// ---- low power mode ----

TEST(LowPowerMode, IsAWarningWithoutACause) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].said["pmset"] = "Currently in use:\n lowpowermode 1\n";
  cluster.macs[1].said["pmset"] = "Currently in use:\n lowpowermode 0\n";
  const EvidenceSet set = cluster.evidence();
  const std::vector<Check> checks = judge_host(set, {});
  EXPECT_EQ(test::outcome_of(checks, "host/mac1#power"), CheckOutcome::kWarn);
  EXPECT_EQ(test::outcome_of(checks, "host/mac2#power"), CheckOutcome::kPass);
  EXPECT_THAT(test::check_with(checks, "host/mac1#power")->reason, HasSubstr("lowpowermode 0"));
  for (const HostVerdict& row : readiness_of(set)) {
    if (row.check.key == "host/mac1#power") {
      EXPECT_EQ(row.cause, "");
    }
  }
  // Of a host that does not tell there is no check.
  EXPECT_EQ(test::check_with(judge_host(test::paper_pair().evidence(), {}), "host/mac1#power"),
            nullptr);
}

}  // namespace
}  // namespace plumbline
