#include "host_rule_helpers.h"
#include "probes/rdma_rungs.h"
#include "probes/rules/host_readiness.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using testing::HasSubstr;
using testing::Not;

EvidenceSet start_star() { return test::healthy_star(3); }

// ---- files, options, versions ----

TEST(StartRules, ProblemsOfTheFilesNameTheirLine) {
  EvidenceSet set = start_star();
  set.job.problems = {"hosts.json:5: unknown key 'adress'"};
  const Candidate found = candidate_of(set, "config.mismatch");
  EXPECT_EQ(found.finding.host, "mini3") << "line 5 is its entry";
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("hosts.json:5"));
  EXPECT_EQ(test::root_causes(set), "config.mismatch@mini3");
}

TEST(StartRules, OptionsThatDiffer) {
  EvidenceSet set = start_star();
  set.job.config = {{"chunk_bytes", "65536"}, {"streams", "2"}};
  for (HostEvidence& host : set.hosts) host.config = set.job.config;
  EXPECT_EQ(causes_of(set), "");
  test::host(set, "mini2").config["streams"] = "4";
  const Candidate found = candidate_of(set, "config.mismatch");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("streams = '4'"));
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("streams to '2'"));
  EXPECT_EQ(test::root_causes(set), "config.mismatch@mini2");
  EvidenceSet two = test::healthy_star(2);
  two.job.config = {{"streams", "2"}};
  two.hosts[0].config["streams"] = "4";
  two.hosts[1].config["streams"] = "2";
  EXPECT_EQ(causes_of(two), "config.mismatch@mini1") << "the job's own value decides a tie";
}

// Agents name only what their environment sets: the others' silence is the job's value.
TEST(StartRules, OptionSetOnOneHostOnly) {
  EvidenceSet set = start_star();
  set.job.config = {{"transport_crc", "off"}};
  test::host(set, "mini2").config["transport_crc"] = "off";
  EXPECT_EQ(causes_of(set), "") << "set, but to what the job has";
  test::host(set, "mini2").config["transport_crc"] = "on";
  EXPECT_EQ(test::root_causes(set), "config.mismatch@mini2");
  EXPECT_THAT(candidate_of(set, "config.mismatch").finding.remedy.text(),
              HasSubstr("transport_crc to 'off'"));
}

TEST(StartRules, VersionsThatDiffer) {
  EvidenceSet set = start_star();
  test::host(set, "mini3").version = "0.9.0";
  const Candidate found = candidate_of(set, "config.version_mismatch");
  EXPECT_EQ(found.finding.host, "mini3");
  EXPECT_EQ(found.finding.remedy.text(), "install plumbline 1.0.0 on mini3");
  test::host(set, "mini3").version = "1.0.0";
  test::host(set, "mini3").build = "debug";
  EXPECT_EQ(causes_of(set), "config.version_mismatch@mini3");
  test::host(set, "mini3").source = "collected";  // no plumbline ran there
  EXPECT_EQ(causes_of(set), "");
}

// ---- agents ----

TEST(StartRules, LostAgentBreaksItsPairs) {
  EvidenceSet set = start_star();
  HostEvidence& host = test::host(set, "mini2");
  host.agent_cause = "rank.agent_lost";
  host.agent_error = "while it was asked for 'snapshot': the connection ended";
  const Candidate found = candidate_of(set, "rank.agent_lost");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "launch/mini2"), CheckOutcome::kFail);
}

TEST(StartRules, EverySshCauseHasARemedy) {
  for (const char* cause :
       {"ssh.unreachable", "ssh.refused", "ssh.auth", "ssh.host_key", "ssh.key_permissions",
        "ssh.no_binary", "ssh.wrong_binary", "something.else"}) {
    EvidenceSet set = start_star();
    HostEvidence none;
    none.name = "mini2";
    none.agent_cause = cause;
    none.agent_error = "no answer";
    test::host(set, "mini2") = none;
    const Candidate found = candidate_of(set, cause);
    EXPECT_THAT(found.finding.remedy.text(), HasSubstr("mini2")) << cause;
    EXPECT_THAT(found.finding.remedy.text(), Not(HasSubstr("{}"))) << cause;
    for (const Check& check : test::host_checks(set)) {
      const bool plan = check.id == "ports" && check.key.find("#plan") != std::string::npos;
      if (check.host != "mini2" || plan || !check.peer.empty()) continue;
      EXPECT_NE(check.outcome, CheckOutcome::kPass) << check.key << " was never seen";
    }
  }
}

TEST(StartRules, SshRemediesNameWhatTheHostFileNames) {
  EvidenceSet set = start_star();
  test::job_host(set, "mini2").ssh = "-p 2222 me@mini2.local";
  HostEvidence none;
  none.name = "mini2";
  none.agent_cause = "ssh.auth";
  none.agent_error = "no";
  test::host(set, "mini2") = none;
  EXPECT_THAT(candidate_of(set, "ssh.auth").finding.remedy.text(),
              HasSubstr("ssh-copy-id -p 2222 me@mini2.local"));
  test::host(set, "mini2").agent_cause = "name.unresolved";
  EXPECT_THAT(candidate_of(set, "name.unresolved").finding.remedy.text(),
              HasSubstr("Host mini2.local"));
  test::host(set, "mini2").agent_cause = "ssh.key_permissions";
  test::host(set, "mini2").agent_error =
      "it last said: Permissions 0644 for '/keys/my key' are too open. | Load key";
  EXPECT_THAT(candidate_of(set, "ssh.key_permissions").finding.remedy.text(),
              HasSubstr("chmod 600 '/keys/my key'"));
  test::host(set, "mini2").agent_error = "bad permissions";
  EXPECT_THAT(candidate_of(set, "ssh.key_permissions").finding.remedy.text(),
              HasSubstr("chmod 600 ~/"));
}

// ---- names ----

void name_gives(EvidenceSet& set, const std::string& host, const std::vector<std::string>& v4) {
  test::host(set, host).names = {{host + ".local", "own", "", v4, {}, "", 1000}};
}

TEST(StartRules, OwnName) {
  EvidenceSet set = start_star();
  name_gives(set, "mini2", {"127.0.1.1"});
  const Candidate loopback = candidate_of(set, "name.loopback");
  EXPECT_EQ(loopback.finding.host, "mini2");
  EXPECT_THAT(loopback.finding.remedy.text(), HasSubstr("10.10.0.2 mini2.local"));
  EXPECT_TRUE(loopback.breaks.empty());
  name_gives(set, "mini2", {"172.16.5.5"});
  EXPECT_EQ(causes_of(set), "name.wrong_address@mini2");
  name_gives(set, "mini2", {});
  test::host(set, "mini2").names[0].error = "Name or service not known";
  EXPECT_EQ(causes_of(set), "name.unresolved@mini2");
  test::host(set, "mini2").names[0].error = "no answer in time";
  EXPECT_EQ(causes_of(set), "");
  EXPECT_EQ(test::outcome_of(judge_name(set, {}), "name/mini2"), CheckOutcome::kUnknown);
  name_gives(set, "mini2", {"10.10.0.77"});
  EXPECT_EQ(causes_of(set), "") << "another address of the data network";
  test::host(set, "mini2").names[0].v4.clear();
  test::host(set, "mini2").names[0].v6 = {"2001:db8::2"};
  EXPECT_EQ(causes_of(set), "name.wrong_address@mini2");
  EXPECT_THAT(candidate_of(set, "name.wrong_address").finding.evidence[0].text,
              HasSubstr("no IPv4 address"));
}

TEST(StartRules, HostileNameIsNotPutIntoACommand) {
  EvidenceSet set = start_star();
  name_gives(set, "mini2", {"127.0.0.1"});
  test::host(set, "mini2").names[0].name = "x; rm -rf $HOME";
  EXPECT_THAT(candidate_of(set, "name.loopback").finding.remedy.text(), Not(HasSubstr("rm -rf")));
}

TEST(StartRules, NamespaceWithAFileOfItsOwnIsJudged) {
  EvidenceSet set = test::healthy_star(4);
  for (HostEvidence& host : set.hosts) {
    host.boot_id = "one";
    host.names = {{"vm", "own", "", {"172.17.0.2"}, {}, "", 1000}};
  }
  EXPECT_EQ(causes_of(set), "");
  test::host(set, "mini3").names[0].v4 = {"127.0.0.1"};
  EXPECT_EQ(causes_of(set), "name.loopback@mini3");
  for (HostEvidence& host : set.hosts) host.names[0].v4 = {"10.10.0." + host.name.substr(4)};
  EXPECT_EQ(causes_of(set), "") << "a file for each of them";
  test::host(set, "mini3").names[0].v4 = {};
  EXPECT_EQ(causes_of(set), "name.unresolved@mini3");
}

TEST(StartRules, NameOfAPeer) {
  EvidenceSet set = start_star();
  test::host(set, "mini1").names.push_back({"mini2", "peer", "mini2", {}, {}, "", 1000});
  EXPECT_EQ(causes_of(set), "") << "nobody knows it, and the job needs no name";
  test::host(set, "mini3").names.push_back({"mini2", "peer", "mini2", {"10.10.0.2"}, {}, "", 1});
  const Candidate found = candidate_of(set, "name.unresolved");
  EXPECT_EQ(found.finding.host, "mini1");
  EXPECT_EQ(found.finding.peer, "mini2");
  test::host(set, "mini1").names[1].v4 = {"127.0.0.1"};
  EXPECT_EQ(causes_of(set), "name.loopback@mini1");
}

// ---- readiness ----

TEST(StartRules, ClampedBuffers) {
  EvidenceSet set = start_star();
  BufferEvidence& buffers = test::host(set, "mini2").buffers;
  buffers = {4 << 20, 4 << 20, 4 << 20, ""};
  EXPECT_EQ(causes_of(set), "");
  buffers.receive = (4 << 20) - 1;
  const Candidate found = candidate_of(set, "host.sockbuf_clamped");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("asked 4 MiB"));
  buffers.error = "no socket";
  EXPECT_EQ(causes_of(set), "");
  EXPECT_EQ(test::outcome_of(judge_host(set, {}), "host/mini2#sockbuf"), CheckOutcome::kUnknown);
}

TEST(StartRules, RanksAndLoad) {
  EvidenceSet set = start_star();
  set.job.ranks = 24;
  EXPECT_EQ(causes_of(set), "");
  EXPECT_EQ(ranks_on(set, "mini2"), 8);
  set.job.ranks = 25;
  EXPECT_EQ(causes_of(set), "host.oversubscribed@mini1");
  set.job.ranks = 3;
  test::host(set, "mini3").load1 = 8 * threshold(Threshold::kLoadPerCore) + 0.1;
  EXPECT_EQ(causes_of(set), "host.overloaded@mini3");
  test::job_host(set, "mini3").reached_by = "netns";
  EXPECT_EQ(causes_of(set), "");
  EvidenceSet local = test::healthy_local(2);
  local.job.ranks = 16;
  EXPECT_EQ(ranks_on(local, "local0"), 16) << "both places are this machine";
  EXPECT_EQ(causes_of(local), "host.oversubscribed@local0");
}

TEST(StartRules, ClockSkew) {
  EvidenceSet set = start_star();
  test::host(set, "mini2").clock_offset_ns = -3'000'000'000;
  const Candidate found = candidate_of(set, "host.clock_skew");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("behind"));
  test::host(set, "mini2").clock_uncertainty_ns = 3'000'000'000;
  EXPECT_EQ(causes_of(set), "") << "the measurement was too rough to say";
  EXPECT_EQ(test::outcome_of(judge_host(set, {}), "host/mini2#clock"), CheckOutcome::kUnknown);
  test::host(set, "mini2").clock_offset_ns.reset();
  EXPECT_EQ(test::outcome_of(judge_host(set, {}), "host/mini2#clock"), CheckOutcome::kUnknown);
}

TEST(StartRules, FullConnectionTable) {
  EvidenceSet set = start_star();
  HostEvidence& host = test::host(set, "mini2");
  host.conntrack_max = 1000;
  host.conntrack_count = 949;
  EXPECT_EQ(causes_of(set), "");
  host.conntrack_count = 950;
  Candidate found = candidate_of(set, "host.conntrack_full");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_TRUE(found.breaks.empty()) << "everything still works";
  test::silence(set, "mini1", "mini2");
  found = candidate_of(set, "host.conntrack_full");
  EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
}

TEST(StartRules, TooFewDescriptors) {
  EvidenceSet set = start_star();
  set.job.ranks = 1000;
  for (HostEvidence& host : set.hosts) host.cores_usable = 1000;
  EXPECT_EQ(causes_of(set), "host.limits@mini1 host.limits@mini2 host.limits@mini3");
}

// ---- RDMA ----

EvidenceSet with_rdma() {
  EvidenceSet set = test::healthy_star(2);
  set.job.rdma = true;
  for (HostEvidence& host : set.hosts) {
    RdmaEvidence rdma;
    rdma.library = "libibverbs.so.1";
    RdmaDevice device;
    device.name = "mlx5_0";
    device.netdev = "eth1";
    device.state = "ACTIVE";
    device.gids = {"", "fe80:0000:0000:0000:0000:00ff:fe00:0001"};
    rdma.devices = {device};
    host.rdma = rdma;
  }
  return set;
}

TEST(StartRules, RdmaRungs) {
  EXPECT_EQ(causes_of(with_rdma()), "");
  EvidenceSet set = with_rdma();
  RdmaEvidence& rdma = *set.hosts[1].rdma;
  set.hosts[1].locked_memory = 65536;
  EXPECT_EQ(causes_of(set), "rdma.memlock@mini2");
  rdma.devices[0].gids = {"", "0000:0000:0000:0000:0000:0000:0000:0000"};
  EXPECT_EQ(causes_of(set), "rdma.no_gid@mini2");
  rdma.devices[0].state = "DOWN";
  EXPECT_EQ(causes_of(set), "rdma.port_down@mini2");
  rdma.devices.clear();
  EXPECT_EQ(causes_of(set), "rdma.no_device@mini2");
  rdma.hardware = "only Thunderbolt 5 can RDMA, this machine has Thunderbolt 4";
  EXPECT_EQ(causes_of(set), "rdma.unsupported_hardware@mini2");
  rdma.library.clear();
  EXPECT_EQ(causes_of(set), "rdma.unsupported_hardware@mini2") << "a library would not help";
  rdma.hardware.clear();
  EXPECT_EQ(causes_of(set), "rdma.no_library@mini2");
  EXPECT_EQ(candidate_of(set, "rdma.no_library").finding.outcome, Severity::kFail);
  set.job.rdma = false;
  EXPECT_EQ(causes_of(set), "") << "nobody asked, and there is no device";
}

// What the child that climbs says of a device (probes/actions/rdma_climb.h).
TEST(StartRules, TheFirstStepOfRdmaThatFailsIsNamed) {
  EvidenceSet set = with_rdma();
  RdmaClimb climb;
  climb.device = "rdma_en2";
  climb.rungs = {{"library", "", ""}, {"pd", "", ""}};
  set.hosts[1].rdma->climbs = {climb};
  for (const RdmaRungRow& row : rdma_rungs()) {
    set.hosts[1].rdma->climbs[0].rungs[1] = {row.name, "errno 16", ""};
    EXPECT_EQ(causes_of(set), row.cause + std::string("@mini2"));
    const Finding finding = candidate_of(set, row.cause).finding;
    EXPECT_EQ(finding.outcome, Severity::kFail);
    EXPECT_NE(finding.evidence.at(0).text.find("rdma_en2 port 1: "), std::string::npos);
    EXPECT_NE(finding.evidence.at(0).text.find("errno 16"), std::string::npos);
    EXPECT_FALSE(finding.remedy.text().empty()) << row.cause;
  }
  EXPECT_NE(candidate_of(set, "rdma.rtr").finding.cause, "");
  set.hosts[1].rdma->climbs[0].rungs[1] = {"qp", "errno 16", ""};
  EXPECT_NE(candidate_of(set, "rdma.qp_limit").finding.remedy.text().find("more than 10"),
            std::string::npos);
}

// A child that hangs in the kernel cannot be ended by its own alarm, and says nothing at its end.
TEST(StartRules, ADeviceThatWasNotTriedToTheEndIsUnknown) {
  EvidenceSet set = with_rdma();
  RdmaClimb climb;
  climb.device = "mlx5_0";
  climb.error = "it was ended after 15 s";
  set.hosts[1].rdma->climbs = {climb};
  EXPECT_EQ(causes_of(set), "");
  const auto check = [&] { return rdma_verdicts(set).at(1).check; };
  EXPECT_EQ(check().outcome, CheckOutcome::kUnknown);
  EXPECT_NE(check().reason.find("ended after 15 s"), std::string::npos);
  RdmaClimb& there = set.hosts[1].rdma->climbs[0];
  there.error.clear();
  for (const RdmaRungRow& row : rdma_rungs()) {
    EXPECT_EQ(check().outcome, CheckOutcome::kUnknown) << row.name;
    there.rungs.push_back({row.name, "", ""});
  }
  EXPECT_EQ(check().outcome, CheckOutcome::kPass);
}

RdmaClimb sound_climb() {
  RdmaClimb climb;
  climb.device = "rdma_en2";
  for (const RdmaRungRow& row : rdma_rungs()) climb.rungs.push_back({row.name, "", ""});
  return climb;
}

// What two hosts said of one another (probes/actions/rdma_meet.h).
EvidenceSet with_meetings() {
  EvidenceSet set = with_rdma();
  for (size_t i = 0; i < set.hosts.size(); ++i) {
    set.hosts[i].rdma->climbs = {sound_climb()};
    RdmaClimb meeting;
    meeting.device = "rdma_en2";
    meeting.peer = set.hosts[1 - i].name;
    for (const RdmaRungRow& row : rdma_pair_rungs()) {
      meeting.rungs.push_back({row.name, "", std::string("text of ") + row.name});
    }
    set.hosts[i].rdma->meetings = {meeting};
  }
  return set;
}

TEST(StartRules, WhatTwoHostsCannotDoWithEachOtherIsNamedOnce) {
  EvidenceSet set = with_meetings();
  EXPECT_EQ(causes_of(set), "");
  const Check sound = rdma_verdicts(set).at(0).check;
  EXPECT_EQ(sound.outcome, CheckOutcome::kPass);
  EXPECT_NE(sound.reason.find("with mini2: text of echo, text of rate"), std::string::npos);
  // Of a step that is seen at one end, that end.
  RdmaRung& rtr = set.hosts[1].rdma->meetings[0].rungs[3];
  rtr.error = "errno 113";
  EXPECT_EQ(causes_of(set), "rdma.rtr@mini2");
  const Finding finding = candidate_of(set, "rdma.rtr").finding;
  EXPECT_NE(finding.evidence.at(0).text.find("rdma_en2 port 1 with mini1: "), std::string::npos);
  EXPECT_NE(finding.remedy.text().find("the cable of rdma_en2"), std::string::npos);
  rtr.error.clear();
  // Of one that is seen at both, the first.
  for (const size_t step : {4, 5}) {
    for (HostEvidence& host : set.hosts) host.rdma->meetings[0].rungs[step].error = "nothing came";
    EXPECT_EQ(causes_of(set), "rdma.path@mini1");
    for (HostEvidence& host : set.hosts) host.rdma->meetings[0].rungs[step].error.clear();
  }
  set.hosts[1].rdma->meetings[0].rungs[4].error = "nothing came";
  EXPECT_EQ(causes_of(set), "rdma.path@mini2") << "the other end saw nothing";
}

TEST(StartRules, OfSeveralCablesToAHostTheBrokenOneIsNamed) {
  EvidenceSet set = with_meetings();
  for (HostEvidence& host : set.hosts) {
    RdmaClimb second = host.rdma->meetings[0];
    second.device = "rdma_en3";
    host.rdma->meetings.push_back(second);
  }
  const std::string sound = rdma_verdicts(set).at(0).check.reason;
  for (const char* device : {"rdma_en2", "rdma_en3"}) {
    EXPECT_NE(sound.find(std::string("with mini2 over ") + device + ": text of echo"),
              std::string::npos)
        << sound;
  }
  for (HostEvidence& host : set.hosts) host.rdma->meetings[1].rungs[4].error = "nothing came";
  EXPECT_EQ(causes_of(set), "rdma.path@mini1");
  const Finding finding = candidate_of(set, "rdma.path").finding;
  EXPECT_NE(finding.evidence.at(0).text.find("rdma_en3 port 1 with mini2: "), std::string::npos);
  EXPECT_NE(finding.remedy.text().find("the cable of rdma_en3"), std::string::npos);
}

TEST(StartRules, TwoHostsThatCouldNotTalkAreUnknown) {
  EvidenceSet set = with_meetings();
  set.hosts[0].rdma->meetings[0].rungs = {{"talk", "connection refused", ""}};
  EXPECT_EQ(causes_of(set), "");
  const Check check = rdma_verdicts(set).at(0).check;
  EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
  EXPECT_NE(check.reason.find("connection refused"), std::string::npos);
}

TEST(StartRules, WhatIsTooFewForAllHostsIsNamed) {
  EvidenceSet set = with_meetings();
  const auto counted = [&](const char* pairs, const char* regions) {
    RdmaClimb climb = sound_climb();
    climb.rungs.push_back({"qps", "", pairs});
    climb.rungs.push_back({"mrs", "", regions});
    set.hosts[1].rdma->climbs = {climb};
  };
  counted("1", "2");
  EXPECT_EQ(causes_of(set), "");
  EXPECT_NE(rdma_verdicts(set).at(1).check.reason.find("room for 1 queue pairs, 2 regions"),
            std::string::npos);
  counted("2000 and more", "1");
  EXPECT_EQ(causes_of(set), "rdma.mr_limit@mini2");
  counted("0", "100");
  EXPECT_EQ(causes_of(set), "rdma.qp_limit@mini2");
}

TEST(StartRules, ADeviceThatTheHostFileNamesAndTheHostLacksIsNamed) {
  EvidenceSet set = with_rdma();
  set.job.hosts[1].rdma_devices = {"mlx5_0"};
  EXPECT_EQ(causes_of(set), "");
  set.job.hosts[1].rdma_devices = {"mlx5_0", "mlx5_7"};
  EXPECT_EQ(causes_of(set), "rdma.no_device@mini2");
}

TEST(StartRules, RdmaDevicesThatWereNotReadAreUnknown) {
  EvidenceSet set = with_rdma();
  set.hosts[1].rdma->devices.clear();
  set.hosts[1].unreadable = {"infiniband: not all files could be read in time"};
  EXPECT_EQ(causes_of(set), "");
  for (const bool asked : {true, false}) {
    set.job.rdma = asked;
    const Check check = rdma_verdicts(set).at(1).check;
    EXPECT_EQ(check.outcome, CheckOutcome::kUnknown) << check.reason;
    EXPECT_NE(check.reason.find("in time"), std::string::npos);
  }
}

TEST(StartRules, RdmaWithoutWhichARunGoesOnIsAWarning) {
  EvidenceSet set = with_rdma();
  set.job.rdma_or_tcp = true;
  set.hosts[1].rdma->devices[0].state = "DOWN";
  EXPECT_EQ(candidate_of(set, "rdma.port_down").finding.outcome, Severity::kWarn);
  EXPECT_EQ(rdma_verdicts(set).at(1).check.outcome, CheckOutcome::kWarn);
}

TEST(StartRules, RdmaThatNobodyAskedForIsANote) {
  EvidenceSet set = with_rdma();
  set.job.rdma = false;
  set.hosts[1].rdma->devices[0].state = "DOWN";
  EXPECT_EQ(candidate_of(set, "rdma.port_down").finding.outcome, Severity::kNote);
}

TEST(StartRules, RdmaThatNobodyLookedForIsUnknown) {
  EvidenceSet set = with_rdma();
  set.hosts[0].rdma.reset();
  EXPECT_EQ(test::outcome_of(judge_rdma(set, {}), "rdma/mini1"), CheckOutcome::kUnknown);
}

// ---- commands ----

TEST(JudgeCommand, ComparesHosts) {
  EvidenceSet set = start_star();
  for (HostEvidence& host : set.hosts) host.commands = {{"uname -r", "uname -r", 0, "6.1\n", ""}};
  for (const Check& check : judge_command(set, {{"run", "uname -r"}})) {
    EXPECT_EQ(check.outcome, CheckOutcome::kPass) << check.reason;
  }
  test::host(set, "mini2").commands[0].out = "5.9\nmore";
  test::host(set, "mini3").commands[0].error = "not found";
  const auto checks = judge_command(set, {{"run", "uname -r"}});
  EXPECT_EQ(test::outcome_of(checks, "command/mini2#uname -r"), CheckOutcome::kFail);
  EXPECT_EQ(test::outcome_of(checks, "command/mini3#uname -r"), CheckOutcome::kUnknown);
  test::expect_sound(checks, {});
  const auto matched = judge_command(set, {{"run", "uname -r"}, {"match", "^6"}});
  EXPECT_EQ(test::outcome_of(matched, "command/mini1#uname -r"), CheckOutcome::kPass);
  EXPECT_EQ(test::outcome_of(matched, "command/mini2#uname -r"), CheckOutcome::kFail);
  const auto broken = judge_command(set, {{"run", "uname -r"}, {"match", "("}});
  EXPECT_EQ(test::outcome_of(broken, "command/mini1#uname -r"), CheckOutcome::kUnknown);
  const auto other = judge_command(set, {{"run", "date"}});
  EXPECT_EQ(test::outcome_of(other, "command/mini1#date"), CheckOutcome::kUnknown);
}

}  // namespace
}  // namespace plumbline
