// Versions, variables and files that differ from what most hosts have: which host is named, for
// what, with which command; and nothing where all are equal or nothing is known.
#include "host_rule_helpers.h"
#include "probes/rules/equal_hosts.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Four Macs with the same of everything.
EvidenceSet equal_macs(int hosts = 4) {
  EvidenceSet set = test::healthy_star(hosts);
  for (HostEvidence& host : set.hosts) {
    host.system = "macos";
    SoftwareEvidence& software = host.software.emplace();
    software.python = "/opt/homebrew/bin/python3";
    software.versions = {{"system", "macOS 26.3 (25D125)"},
                         {"chip", "Apple M4 Pro"},
                         {"memory", "48 GiB"},
                         {"python", "3.12.1"},
                         {"mlx", "0.31.0"},
                         {"mlx-lm", "0.29.1"}};
    software.variables = {{"HF_HUB_OFFLINE", "1"}};
    ArtifactEvidence& artifact = host.artifacts.emplace_back();
    artifact.path = "~/models/qwen";
    artifact.folder = "/Volumes/me/models/qwen";
    artifact.found = true;
    artifact.listed = true;
    artifact.files = {{"config.json", 700, "aa"}, {"m-1.safetensors", 5'000'000, "bb", true}};
  }
  // As a host file's port, key and user are shown.
  for (JobHost& host : set.job.hosts) host.ssh = "-p 2222 -l me " + host.name;
  return set;
}

std::vector<Check> equality_checks(const EvidenceSet& set) {
  std::vector<Check> out = judge_software(set, {});
  for (Check& check : judge_artifact(set, {})) out.push_back(std::move(check));
  return out;
}

std::vector<Finding> equality_findings(const EvidenceSet& set) {
  const std::vector<Check> checks = equality_checks(set);
  std::vector<Candidate> proposed = propose_software(set, checks);
  for (Candidate& each : propose_artifacts(set, checks)) proposed.push_back(std::move(each));
  test::expect_sound(checks, proposed);
  std::vector<Finding> out;
  for (Candidate& each : proposed) out.push_back(std::move(each.finding));
  return out;
}

std::vector<std::string> equality_words(const EvidenceSet& set) {
  std::vector<std::string> out;
  for (const Finding& finding : equality_findings(set)) {
    out.push_back(finding.cause + "@" + finding.host + " " + to_string(finding.outcome));
  }
  return out;
}

std::string only_remedy(const EvidenceSet& set) {
  const std::vector<Finding> findings = equality_findings(set);
  EXPECT_EQ(findings.size(), 1U);
  return findings.empty() ? std::string() : findings[0].remedy.text();
}

TEST(Equality, EqualHostsHaveNoFinding) {
  const EvidenceSet set = equal_macs();
  EXPECT_THAT(equality_words(set), IsEmpty());
  for (const Check& check : equality_checks(set)) {
    EXPECT_EQ(check.outcome, CheckOutcome::kPass) << check.key << ": " << check.reason;
  }
}

TEST(Equality, AnotherVersionOfAPackageWarnsAndFailsWhereItIsNamed) {
  EvidenceSet set = equal_macs();
  test::host(set, "mini3").software->versions["mlx"] = "0.30.4";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini3 warn"));
  EXPECT_EQ(only_remedy(set).substr(0, only_remedy(set).find('\n')),
            "env /opt/homebrew/bin/python3 -m pip install mlx==0.31.0");
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text,
              AllOf(HasSubstr("0.30.4 here"), HasSubstr("0.31.0 on mini1 and 2 others")));
  EvidenceSet three = equal_macs(3);
  test::host(three, "mini3").software->versions["mlx"] = "0.30.4";
  EXPECT_THAT(equality_findings(three)[0].evidence[0].text, HasSubstr("on mini1 and mini2"));
  set.job.packages = {"mlx"};
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini3 fail"));
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini3#mlx"), CheckOutcome::kFail);
}

TEST(Equality, OfTwoTheOlderVersionIsTheOneToMend) {
  EvidenceSet set = equal_macs(2);
  test::host(set, "mini1").software->versions["mlx"] = "0.9.0";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini1 warn"));
  test::host(set, "mini1").software->versions["mlx"] = "0.31.10";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 warn"));
}

TEST(Equality, APackageThatHalfOfTheHostsHaveIsLackingOnTheOthers) {
  EvidenceSet set = equal_macs();
  test::host(set, "mini1").software->versions.erase("mlx-lm");
  test::host(set, "mini2").software->versions.erase("mlx-lm");
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini1 warn",
                                               "config.version_mismatch@mini2 warn"));
  test::host(set, "mini3").software->versions.erase("mlx-lm");
  EXPECT_THAT(equality_words(set), IsEmpty()) << "one host alone has it: nobody needs it";
  set.job.packages = {"mlx-lm"};
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini1 fail",
                                               "config.version_mismatch@mini2 fail",
                                               "config.version_mismatch@mini3 fail"))
      << "but the scenario does";
}

TEST(Equality, AnInterpreterThatOneHostLacks) {
  EvidenceSet set = equal_macs();
  SoftwareEvidence& software = *test::host(set, "mini2").software;
  software.python.clear();
  software.python_error = "there is no /Volumes/me/venv/bin/python";
  for (const char* name : {"python", "mlx", "mlx-lm"}) software.versions.erase(name);
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 warn"));
  set.job.packages = {"mlx"};
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 fail"));
  // One that is there and tells nothing is not known to differ.
  software.python = "/Volumes/me/venv/bin/python";
  software.python_error = "no answer in time";
  EXPECT_THAT(equality_words(set), IsEmpty());
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini2#python"),
            CheckOutcome::kUnknown);
}

TEST(Equality, AnInterpreterThatHalfOfTheHostsHaveAndOneThatNobodyHas) {
  EvidenceSet set = equal_macs(2);
  const auto take_from = [&](const char* name) {
    SoftwareEvidence& software = *test::host(set, name).software;
    software.python.clear();
    software.python_error = "there is no python3";
    for (const char* each : {"python", "mlx", "mlx-lm"}) software.versions.erase(each);
  };
  take_from("mini2");
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 warn"));
  take_from("mini1");
  EXPECT_THAT(equality_words(set), IsEmpty());
  EXPECT_EQ(judge_software(set, {}).size(), 2U) << "a check of each host, and none of Python";
}

// torch has other builds for other systems, and brings NCCL on Linux only.
TEST(Equality, PackagesAreComparedAmongHostsOfOneSystem) {
  EvidenceSet set = equal_macs();
  for (const char* name : {"mini1", "mini2"}) {
    HostEvidence& host = test::host(set, name);
    host.system = "linux";
    host.software->versions = {{"system", "Debian GNU/Linux 12 (bookworm)"},
                               {"python", "3.12.1"},
                               {"torch", "2.5.1+cu124"},
                               {"nccl", "2.21.5"}};
  }
  for (const char* name : {"mini3", "mini4"}) {
    test::host(set, name).software->versions["torch"] = "2.5.1";
  }
  EXPECT_THAT(equality_words(set), IsEmpty());
  set.job.packages = {"torch"};
  EXPECT_THAT(equality_words(set), IsEmpty()) << "the same without the build";
  test::host(set, "mini4").software->versions["torch"] = "2.4.0";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini4 fail"));
  test::host(set, "mini4").software->versions["torch"] = "2.5.1";
  test::host(set, "mini2").software->versions["torch"] = "2.5.1+cpu";
  set.job.packages.clear();
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 warn"));
  EXPECT_THAT(equality_findings(set)[0].remedy.commands(), IsEmpty()) << "no index has it";
}

TEST(Equality, RowsOfTheSystemAreNoPackages) {
  EvidenceSet set = equal_macs();
  set.job.packages = {"system", "chip"};
  test::host(set, "mini2").software->versions["system"] = "macOS 26.2 (25C56)";
  test::host(set, "mini2").software->versions["chip"] = "Apple M4";
  EXPECT_THAT(equality_words(set),
              ElementsAre("config.version_mismatch@mini2 warn", "config.mismatch@mini2 note"));
}

TEST(Equality, APackageThatOnlyTheScenarioNames) {
  EvidenceSet set = equal_macs();
  set.job.packages = {"mine"};
  for (HostEvidence& host : set.hosts) host.software->versions["mine"] = "1.0";
  EXPECT_THAT(equality_words(set), IsEmpty());
  test::host(set, "mini4").software->versions["mine"] = "1.0;reboot";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini4 fail"));
  for (HostEvidence& host : set.hosts) host.software->versions["mine"] = "$(reboot)";
  test::host(set, "mini4").software->versions["mine"] = "1.0";
  EXPECT_THAT(equality_findings(set)[0].remedy.commands(), IsEmpty())
      << "what a host says becomes no command";
}

TEST(Equality, SystemsAreComparedAmongTheirOwnKind) {
  EvidenceSet set = equal_macs();
  HostEvidence& linux_host = test::host(set, "mini4");
  linux_host.system = "linux";
  linux_host.software->versions["system"] = "Debian GNU/Linux 12 (bookworm)";
  EXPECT_THAT(equality_words(set), IsEmpty());
  test::host(set, "mini3").system = "linux";
  test::host(set, "mini3").software->versions["system"] = "Ubuntu 22.04.4 LTS";
  EXPECT_THAT(equality_words(set), IsEmpty()) << "another distribution";
  test::host(set, "mini3").system = "macos";
  test::host(set, "mini3").software->versions["system"] = "macOS 26.3 (25D125)";
  test::host(set, "mini2").software->versions["system"] = "macOS 26.2 (25C56)";
  EXPECT_THAT(equality_words(set), ElementsAre("config.version_mismatch@mini2 warn"));
  EXPECT_THAT(only_remedy(set), HasSubstr("softwareupdate --list"));
}

TEST(Equality, AnotherChipOrMemoryIsANoteAlone) {
  EvidenceSet set = equal_macs();
  test::host(set, "mini2").software->versions["memory"] = "24 GiB";
  test::host(set, "mini2").software->versions["chip"] = "Apple M4";
  EXPECT_THAT(equality_words(set),
              ElementsAre("config.mismatch@mini2 note", "config.mismatch@mini2 note"));
  const std::vector<Finding> findings = find_causes(set, equality_checks(set));
  EXPECT_EQ(health_of(equality_checks(set), findings), Health::kOk);
}

TEST(Equality, AVariableThatOneHostLacks) {
  EvidenceSet set = equal_macs();
  test::host(set, "mini2").software->variables.clear();
  EXPECT_THAT(equality_words(set), ElementsAre("config.mismatch@mini2 fail"));
  EXPECT_THAT(only_remedy(set), AllOf(HasSubstr("HF_HUB_OFFLINE 1"), HasSubstr("~/.zshenv"),
                                      HasSubstr("mlx.launch")));
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text,
              AllOf(HasSubstr("not set here"), HasSubstr("'1' on mini1")));
  test::host(set, "mini2").system = "linux";
  test::host(set, "mini2").software->versions.erase("system");
  EXPECT_THAT(only_remedy(set), AllOf(HasSubstr("~/.bashrc"), HasSubstr("/etc/environment")));
}

TEST(Equality, AVariableThatOneHostAloneHas) {
  EvidenceSet set = equal_macs();
  test::host(set, "mini4").software->variables["MLX_METAL_FAST_SYNCH"] = "1";
  EXPECT_THAT(equality_words(set), ElementsAre("config.mismatch@mini4 fail"));
  EXPECT_THAT(only_remedy(set), HasSubstr("take MLX_METAL_FAST_SYNCH out"));
  EXPECT_EQ(equality_findings(set)[0].evidence[0].text,
            "MLX_METAL_FAST_SYNCH: '1' here, not set on mini1 and 2 others");
  EvidenceSet two = equal_macs(2);
  two.hosts[1].software->variables["NCCL_ALGO"] = "Ring";
  EXPECT_THAT(equality_words(two), ElementsAre("config.mismatch@mini1 fail"))
      << "of two the one without it";
  two.hosts[0].software->variables["NCCL_ALGO"] = "Tree";
  EXPECT_THAT(equality_words(two), ElementsAre("config.mismatch@mini1 fail"))
      << "nobody can say who is wrong: the first of the file";
}

TEST(Equality, WhatWasNotSeenIsNoDifference) {
  EvidenceSet set = equal_macs();
  HostEvidence& blind = test::host(set, "mini2");
  blind.software->versions = {{"system", "macOS 26.3 (25D125)"}};
  blind.software->python_error = "no answer in time";
  blind.software->untold = {"HF_HUB_OFFLINE"};
  blind.software->variables.clear();
  EXPECT_THAT(equality_words(set), IsEmpty());
  EXPECT_THAT(test::check_with(equality_checks(set), "software/mini2")->reason,
              HasSubstr("no answer in time"));
  blind.software.emplace().error = "it does not know the request";
  EXPECT_THAT(equality_words(set), IsEmpty());
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini2"), CheckOutcome::kUnknown);
  blind.software.reset();
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini2"), CheckOutcome::kUnknown);
  blind.source = "collected";
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini2"), CheckOutcome::kSkipped);
  for (HostEvidence& host : set.hosts) host.software.reset();
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/mini1"), CheckOutcome::kSkipped)
      << "evidence of a version that did not ask";
}

TEST(Equality, AModelThatIsNotThere) {
  EvidenceSet set = equal_macs();
  ArtifactEvidence& artifact = test::host(set, "mini3").artifacts[0];
  artifact.found = false;
  artifact.files.clear();
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.missing@mini3 fail"));
  const Finding finding = equality_findings(set).at(0);
  ASSERT_EQ(finding.remedy.commands().size(), 2U);
  EXPECT_EQ(finding.remedy.commands()[0].host, "mini1");
  EXPECT_THAT(
      finding.remedy.commands()[0].argv,
      ElementsAre("ssh", "-p", "2222", "me@mini3", "mkdir", "-p", "/Volumes/me/models/qwen"));
  EXPECT_EQ(finding.remedy.commands()[1].host, "mini1");
  EXPECT_THAT(finding.remedy.commands()[1].argv,
              ElementsAre("rsync", "-aL", "--checksum", "--partial", "-e", "ssh -p 2222",
                          "/Volumes/me/models/qwen/", "me@mini3:/Volumes/me/models/qwen/"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("mounted"));
  artifact.found = true;  // an empty folder is no model either
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.missing@mini3 fail"));
}

TEST(Equality, AHostWithoutSshIsServedFromThere) {
  EvidenceSet set = equal_macs();
  test::job_host(set, "mini1").ssh.clear();
  test::host(set, "mini1").artifacts[0].files[0].bytes = 7;
  const Finding finding = equality_findings(set).at(0);
  ASSERT_EQ(finding.remedy.commands().size(), 1U);
  EXPECT_EQ(finding.remedy.commands()[0].host, "mini1");
  EXPECT_THAT(finding.remedy.commands()[0].argv,
              ElementsAre("rsync", "-aL", "--checksum", "--partial", "-e", "ssh -p 2222",
                          "me@mini2:/Volumes/me/models/qwen/", "/Volumes/me/models/qwen/"));
}

TEST(Equality, FilesThatDifferFromMost) {
  EvidenceSet set = equal_macs();
  ArtifactEvidence& artifact = test::host(set, "mini2").artifacts[0];
  artifact.files[1].bytes = 4'000'000;
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.differs@mini2 fail"));
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text,
              HasSubstr("m-1.safetensors is 4000000 bytes long, on most hosts 5000000"));
  artifact.files[1].bytes = 5'000'000;
  artifact.files[1].digest = "cc";
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text, HasSubstr("not the same (by samples)"));
  artifact.files = {{"config.json", 700, "aa"}};
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text, HasSubstr("is not there, most hosts"));
  artifact.files = {{"config.json", 700, "aa"},
                    {"m-1.safetensors", 5'000'000, "bb", true},
                    {"m-old.safetensors", 9, "dd"}};
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text, HasSubstr("most hosts do not have it"));
  EXPECT_THAT(only_remedy(set), HasSubstr("move it away by hand"));
}

TEST(Equality, OfTwoCopiesTheOneThatIsCutOffIsWrong) {
  EvidenceSet set = equal_macs(2);
  ArtifactEvidence& artifact = test::host(set, "mini1").artifacts[0];
  artifact.files[1].bytes = 4'000'000;
  artifact.files[1].problem = "1000000 bytes are missing at its end: cut off?";
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.differs@mini1 fail"));
  artifact.files.pop_back();
  artifact.missing = {"m-1.safetensors"};
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.missing@mini1 fail"));
  EXPECT_THAT(equality_findings(set)[0].evidence[0].text, HasSubstr("its index names"));
  // Without such a word the first host's copy counts.
  EvidenceSet two = equal_macs(2);
  two.hosts[0].artifacts[0].files[0].digest = "ee";
  EXPECT_THAT(equality_words(two), ElementsAre("artifact.differs@mini2 fail"));
}

TEST(Equality, AModelThatNobodyHasAndOneThatCouldNotBeReadInTime) {
  EvidenceSet set = equal_macs();
  for (HostEvidence& host : set.hosts) {
    host.artifacts[0].found = false;
    host.artifacts[0].files.clear();
  }
  EXPECT_EQ(equality_words(set).size(), 4U);
  EXPECT_THAT(equality_findings(set)[0].remedy.text(), HasSubstr("no host has"));
  EvidenceSet slow = equal_macs();
  ArtifactEvidence& artifact = test::host(slow, "mini2").artifacts[0];
  artifact.files[1].digest.clear();
  artifact.error = "1 of 2 files could not be read in time";
  EXPECT_THAT(equality_words(slow), IsEmpty());
  EXPECT_EQ(test::outcome_of(equality_checks(slow), "artifact/mini2#~/models/qwen"),
            CheckOutcome::kUnknown);
  artifact.error = "it has more than 4096 files";
  artifact.listed = false;
  artifact.files.pop_back();
  EXPECT_THAT(equality_words(slow), IsEmpty()) << "a file that was not told is not known to lack";
  EXPECT_EQ(test::outcome_of(equality_checks(slow), "artifact/mini2#~/models/qwen"),
            CheckOutcome::kUnknown);
  artifact.found.reset();
  artifact.files.clear();
  artifact.error = "Permission denied";
  EXPECT_THAT(equality_words(slow), IsEmpty());
  EXPECT_THAT(test::check_with(equality_checks(slow), "artifact/mini2#~/models/qwen")->reason,
              HasSubstr("Permission denied"));
}

// A folder that somebody made before the model came is no word about what the others should have.
TEST(Equality, AnEmptyFolderBlamesNobodyElse) {
  EvidenceSet set = equal_macs(2);
  set.hosts[0].artifacts[0].files.clear();
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.missing@mini1 fail"));
  set.hosts[1].artifacts[0].found = false;
  set.hosts[1].artifacts[0].files.clear();
  EXPECT_THAT(equality_words(set),
              ElementsAre("artifact.missing@mini1 fail", "artifact.missing@mini2 fail"));
  set.hosts[1].artifacts[0].found = true;
  EXPECT_EQ(equality_words(set).size(), 2U);
}

TEST(Equality, OfTwoTheOneWithoutAFileLacksIt) {
  EvidenceSet set = equal_macs(2);
  set.hosts[0].artifacts[0].files.erase(set.hosts[0].artifacts[0].files.begin());
  EXPECT_THAT(equality_words(set), ElementsAre("artifact.differs@mini1 fail"));
  EXPECT_EQ(equality_findings(set)[0].remedy.commands().at(0).host, "mini2");
}

TEST(Equality, ALoneFileGetsItsFolder) {
  EvidenceSet set = equal_macs(2);
  for (HostEvidence& host : set.hosts) {
    host.artifacts[0].folder = "/models/x.gguf";
    host.artifacts[0].files = {{"", 9, "aa"}};
  }
  set.hosts[1].artifacts[0].found = false;
  set.hosts[1].artifacts[0].files.clear();
  const std::vector<HostCommand> commands = equality_findings(set).at(0).remedy.commands();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_THAT(commands[0].argv,
              ElementsAre("ssh", "-p", "2222", "me@mini2", "mkdir", "-p", "/models"));
  EXPECT_EQ(commands[1].argv.back(), "me@mini2:/models/x.gguf");
}

TEST(Equality, SizesThatCannotBeAreNoTrouble) {
  EvidenceSet set = equal_macs(2);
  for (const int64_t bytes : {INT64_MAX, INT64_MIN}) {
    for (HostEvidence& host : set.hosts) {
      for (ArtifactFile& file : host.artifacts[0].files) file.bytes = bytes;
    }
    EXPECT_THAT(equality_words(set), IsEmpty());
  }
}

TEST(Equality, NamesOfFilesAndFoldersBecomeNoCommand) {
  EvidenceSet set = equal_macs();
  for (HostEvidence& host : set.hosts) host.artifacts[0].folder = "/models/$(reboot)";
  test::host(set, "mini3").artifacts[0].files[0].digest = "x";
  EXPECT_THAT(equality_findings(set).at(0).remedy.commands(), IsEmpty());
  EvidenceSet other = equal_macs();
  test::job_host(other, "mini3").ssh = "-oProxyCommand=reboot";
  test::host(other, "mini3").artifacts[0].files[0].digest = "x";
  EXPECT_THAT(equality_findings(other).at(0).remedy.commands(), IsEmpty());
}

TEST(Equality, WithoutAPathTheProbeIsSkippedWithItsReason) {
  EvidenceSet set = test::healthy_star(2);
  const std::vector<Check> checks = judge_artifact(set, {});
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].outcome, CheckOutcome::kSkipped);
  EXPECT_THAT(checks[0].reason, HasSubstr("--model PATH"));
}

TEST(Equality, OneMachineIsLookedAtOnce) {
  EvidenceSet set = test::healthy_local(3);
  set.hosts[0].software.emplace().versions = {{"system", "Debian"}};
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/local0"), CheckOutcome::kPass);
  EXPECT_EQ(test::outcome_of(equality_checks(set), "software/local1"), CheckOutcome::kSkipped);
}

TEST(Equality, AMachineThatIsTwoHostsHasOneVote) {
  EvidenceSet set = equal_macs(4);
  for (size_t i = 0; i < 2; ++i) {
    set.job.hosts[i].reached_by = "local";
    set.job.hosts[i].data = {"10.0.0.1/24"};
    set.hosts[i].software->versions["mlx"] = "0.32.0";
    set.hosts[i].artifacts[0].files[0].digest = "zz";
  }
  EXPECT_THAT(equality_words(set),
              ElementsAre("config.version_mismatch@mini1 warn", "artifact.differs@mini1 fail"));
}

}  // namespace
}  // namespace plumbline
