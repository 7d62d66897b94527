// Ports of the job: who holds them, and what may be advised about the holder.
#include "host_rule_helpers.h"
#include "probes/rules/host_readiness.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using testing::HasSubstr;
using testing::Not;

EvidenceSet ports_star() { return test::healthy_star(3); }

TEST(PortRules, PortsThatCollide) {
  for (const auto& [base, master] :
       {std::pair{29500, 29500}, {29499, 29500}, {65534, 29500}, {0, 29500}, {29600, 70000}}) {
    EvidenceSet set = ports_star();
    set.job.port_base = base;
    set.job.master_port = master;
    const Candidate found = candidate_of(set, "tcp.port_collision");
    EXPECT_EQ(found.finding.host, "mini1");
    EXPECT_THAT(found.finding.remedy.text(), testing::StartsWith("--"));
    EXPECT_TRUE(found.breaks.empty()) << "the network itself is not broken by it";
    EXPECT_EQ(found.finding.explains.size(), 3u) << "the plan of every host";
  }
  EvidenceSet set = ports_star();
  set.job.port_base = 29501;
  EXPECT_EQ(causes_of(set), "");
}

void hold(EvidenceSet& set, const std::string& host, int port, const std::string& holder) {
  for (PairEvidence& pair : set.pairs) {
    if (pair.to != host) continue;
    for (PortTry& attempt : pair.ports) {
      if (attempt.port != port) continue;
      attempt.listener = "in_use";
      attempt.holder = holder;
      attempt.answer = "stranger";
      attempt.accepted = false;
    }
  }
}

TEST(PortRules, PortHeldByAnotherProcess) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (python3)");
  hold(set, "mini2", 29500, "PID 4711 (python3)");
  const Candidate found = candidate_of(set, "tcp.port_in_use");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.finding.ports, (std::vector<int>{29500, 29601}));
  // Other ports first; a process that nobody here knows is never ended by a command.
  EXPECT_THAT(found.finding.remedy.text(), testing::StartsWith("choose other ports: --port-base "));
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("--master-port"));
  EXPECT_THAT(found.finding.remedy.text(),
              HasSubstr("\nonly if nobody needs it: end process 4711"));
  EXPECT_THAT(found.finding.remedy.text(), Not(HasSubstr("kill")));
  EXPECT_EQ(causes_of(set), "tcp.port_in_use@mini2");
  EXPECT_EQ(test::root_causes(set), "tcp.port_in_use@mini2");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini2:29601"), CheckOutcome::kFail);
}

// On a busy machine `doctor --stack torch-gloo` failed for a connection that had taken one of the
// ports of the ephemeral range since the look at the host: the job will take another one.
TEST(PortRules, APortOfARangeThatIsTakenMeanwhileIsNoFault) {
  EvidenceSet set = ports_star();
  for (const char* holder : {"", "PID 4711 (python3)", "PID 4711 (plumbline)"}) {
    hold(set, "mini2", 29601, holder);
    EXPECT_NE(causes_of(set), "");
    // A part of the range, as filters cut it, may be one port.
    for (const PortSample& sample : {PortSample{29601, 29590, 29999}, {29601, 29601, 29601}}) {
      test::job_host(set, "mini2").samples = {sample};
      EXPECT_EQ(causes_of(set), "") << holder;
      EXPECT_EQ(test::root_causes(set), "");
      EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini2:29601"),
                CheckOutcome::kSkipped);
    }
    test::job_host(set, "mini2").samples.clear();
  }
}

TEST(PortRules, PortHeldByOurOwnLeftover) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  const Candidate found = candidate_of(set, "host.stale_process");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_EQ(found.finding.remedy.text(), "kill 4711");
}

// Both ends of `doctor --peer` on one machine: each agent finds the other's listeners.
TEST(PortRules, AgentsOfThisVeryCheckAreNoLeftovers) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  test::host(set, "mini1").agent_pid = 4711;
  test::host(set, "mini1").boot_id = test::host(set, "mini2").boot_id;
  EXPECT_EQ(causes_of(set), "");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini2:29601"), CheckOutcome::kSkipped);
  EXPECT_EQ(test::outcome_of(judge_tcp_connect(set, {}), "tcp.connect/mini1>mini2:29601"),
            CheckOutcome::kSkipped);
}

// Only its own name makes a process a leftover of ours.
TEST(PortRules, ANameThatOnlyBeginsLikeOursIsAStrangers) {
  for (const char* holder : {"PID 4711 (plumbline-exporter)", "PID 4711 (postgres (plumbline)",
                             "PID 4711 (a) (plumbline)"}) {
    EvidenceSet set = ports_star();
    hold(set, "mini2", 29601, holder);
    const Candidate found = candidate_of(set, "tcp.port_in_use");
    EXPECT_THAT(found.finding.remedy.commands(), testing::IsEmpty()) << holder;
  }
}

TEST(PortRules, TheSameNumberOfAProcessElsewhereIsALeftover) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  test::host(set, "mini1").agent_pid = 4711;  // of another machine
  EXPECT_EQ(causes_of(set), "host.stale_process@mini2");
  test::host(set, "mini2").agent_pid = 4712;
  EXPECT_EQ(causes_of(set), "host.stale_process@mini2");
  // A number that nobody knows fits nothing.
  hold(set, "mini2", 29601, "a process called (plumbline)");
  test::host(set, "mini2").agent_pid = 0;
  EXPECT_EQ(causes_of(set), "host.stale_process@mini2");
}

TEST(PortRules, AnAgentThatWaitsForItsCoordinatorIsANote) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  SocketEvidence socket = {"tcp", "0.0.0.0", 29601, "LISTEN", "", 4711, "plumbline", std::nullopt};
  test::host(set, "mini2").sockets = {socket};
  EXPECT_EQ(candidate_of(set, "host.stale_process").finding.outcome, Severity::kWarn);
  test::host(set, "mini2").sockets[0].role = "waiting agent";
  const Candidate found = candidate_of(set, "host.stale_process");
  EXPECT_EQ(found.finding.outcome, Severity::kNote);
  EXPECT_THAT(found.finding.remedy.text(), Not(HasSubstr("kill")));
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("waits for its coordinator"));
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini2:29601"), CheckOutcome::kSkipped);
  // Another process with that word is a stranger all the same.
  hold(set, "mini2", 29601, "PID 4711 (python3)");
  test::host(set, "mini2").sockets[0].process = "python3";
  EXPECT_EQ(causes_of(set), "tcp.port_in_use@mini2");
}

// Two diagnoses at the same time told each other's user to kill the other one's agent.
TEST(PortRules, AnAgentOfAnotherDiagnosisIsANote) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  SocketEvidence socket = {"tcp", "0.0.0.0", 29601, "LISTEN", "", 4711, "plumbline", std::nullopt};
  socket.role = "busy agent";
  test::host(set, "mini2").sockets = {socket};
  const Candidate found = candidate_of(set, "host.stale_process");
  EXPECT_EQ(found.finding.outcome, Severity::kNote);
  EXPECT_THAT(found.finding.remedy.text(), Not(HasSubstr("kill")));
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("another diagnosis"));
  test::host(set, "mini2").sockets[0].role = "an agent of its own word";
  EXPECT_EQ(candidate_of(set, "host.stale_process").finding.outcome, Severity::kWarn);
}

// Its ranks were called leftovers, to be killed.
TEST(PortRules, ARankOfALivingRunIsBusy) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  PortTry& attempt = test::port_try(set, "mini1", "mini2", 29601);
  attempt.role = "busy rank";
  attempt.run = "3f0c21d07be944aa";
  const Candidate found = candidate_of(set, "tcp.port_in_use");
  EXPECT_EQ(found.finding.outcome, Severity::kNote);
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("busy: held by PID 4711 (plumbline)"));
  EXPECT_EQ(found.finding.remedy.text(),
            "wait until run 3f0c21d07be944aa has ended, or choose other ports: --port-base auto, "
            "or end it: plumbline stop 3f0c21d07be944aa");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini2:29601"), CheckOutcome::kSkipped);
  EXPECT_EQ(test::outcome_of(judge_tcp_connect(set, {}), "tcp.connect/mini1>mini2:29601"),
            CheckOutcome::kSkipped);
}

TEST(PortRules, AnyProgramOfALivingRunIsBusyAndOrphansAreNot) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (python3)");
  SocketEvidence socket = {"tcp", "0.0.0.0", 29601, "LISTEN", "", 4711, "python3", std::nullopt};
  socket.role = "busy rank";
  socket.run = "3f0c21d07be944aa";
  test::host(set, "mini2").sockets = {socket};
  EXPECT_EQ(candidate_of(set, "tcp.port_in_use").finding.outcome, Severity::kNote);
  // Nobody keeps it any more.
  test::host(set, "mini2").sockets[0].role = "";
  EXPECT_EQ(candidate_of(set, "tcp.port_in_use").finding.outcome, Severity::kFail);
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  EXPECT_EQ(candidate_of(set, "host.stale_process").finding.remedy.text(), "kill 4711");
}

// Beside a living run the advice was to end what keeps the cores busy: the run.
TEST(PortRules, ALivingRunIsNotToBeEndedForItsLoad) {
  EvidenceSet set = ports_star();
  HostEvidence& host = test::host(set, "mini2");
  host.load1 = 7.5;
  EXPECT_THAT(candidate_of(set, "host.overloaded").finding.remedy.text(),
              HasSubstr("end what keeps"));
  host.sockets = {{"tcp", "10.10.0.2", 31000, "LISTEN", "", 4711, "plumbline", std::nullopt}};
  host.sockets[0].role = "busy rank";
  EXPECT_THAT(candidate_of(set, "host.overloaded").finding.remedy.text(),
              testing::StartsWith("wait"));
}

// An id comes from another host: what is none is not repeated, above all not behind `stop`.
TEST(PortRules, AHostileRunIdIsNotRepeated) {
  for (const char* run : {"$(reboot)", "--list", "a\nrm -rf /", ""}) {
    EvidenceSet set = ports_star();
    hold(set, "mini2", 29601, "PID 4711 (plumbline)");
    PortTry& attempt = test::port_try(set, "mini1", "mini2", 29601);
    attempt.role = "busy rank";
    attempt.run = run;
    const Candidate found = candidate_of(set, "tcp.port_in_use");
    EXPECT_EQ(found.finding.remedy.text(),
              "wait until that run has ended, or choose other ports: --port-base auto");
    EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("a process of a run that is alive"));
  }
}

// A port that somebody holds on a machine that is asked alone had no cause.
TEST(PortRules, PortHeldOnOneMachineAlone) {
  EvidenceSet set = test::healthy_star(2);
  for (JobHost& job : set.job.hosts) {
    job.reached_by = "local";
    job.data = {"127.0.0.1"};
  }
  test::pair(set, "mini2", "mini1").skipped = "both ends are this machine, as for mini1 and mini2";
  hold(set, "mini2", 29601, "PID 4711 (python3)");
  const Candidate found = candidate_of(set, "tcp.port_in_use");
  EXPECT_EQ(found.finding.host, "mini1");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ports/mini1:29601"), CheckOutcome::kFail);
}

// Beside a warning about a leftover the verdict said that something fails.
TEST(PortRules, AHeldPortExplainsItsConnections) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "PID 4711 (plumbline)");
  std::vector<Check> checks = judge_tcp_connect(set, {});
  ASSERT_EQ(test::outcome_of(checks, "tcp.connect/mini1>mini2:29601"), CheckOutcome::kFail);
  const std::vector<Candidate> found = propose_ports(set, checks);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].finding.explains,
              testing::UnorderedElementsAre("tcp.connect/mini1>mini2:29601",
                                            "tcp.connect/mini3>mini2:29601"));
}

TEST(PortRules, HolderThatCannotBeSeen) {
  EvidenceSet set = ports_star();
  hold(set, "mini2", 29601, "a process that this user cannot see");
  EXPECT_THAT(candidate_of(set, "tcp.port_in_use").finding.remedy.text(),
              HasSubstr("ss -tanp 'sport = :29601'"));
  test::host(set, "mini2").sockets = {
      {"tcp", "0.0.0.0", 29601, "LISTEN", "", 99, "nginx", std::nullopt}};
  EXPECT_THAT(candidate_of(set, "tcp.port_in_use").finding.remedy.text(),
              HasSubstr("end process 99 by hand"));
}

TEST(PortRules, ForeignPortsAndListenersOfTheJobAreFine) {
  EvidenceSet set = ports_star();
  test::host(set, "mini2").sockets = {
      {"tcp", "0.0.0.0", 22, "LISTEN", "", 1, "sshd", std::nullopt},
      {"tcp", "10.10.0.2", 29601, "LISTEN", "", 2, "plumbline", std::nullopt}};
  EXPECT_EQ(causes_of(set), "");
}

TEST(PortRules, PortsInTheEphemeralRange) {
  EvidenceSet set = ports_star();
  set.job.port_base = 40000;
  auto checks = judge_ports(set, {});
  EXPECT_EQ(test::outcome_of(checks, "ports/mini1#ephemeral"), CheckOutcome::kWarn);
  test::host(set, "mini1").sysctls["net.ipv4.ip_local_reserved_ports"] = "40000-40010";
  checks = judge_ports(set, {});
  EXPECT_EQ(test::outcome_of(checks, "ports/mini1#ephemeral"), CheckOutcome::kPass);
  test::host(set, "mini1").sysctls.clear();
  checks = judge_ports(set, {});
  EXPECT_EQ(test::outcome_of(checks, "ports/mini1#ephemeral"), CheckOutcome::kSkipped);
}

}  // namespace
}  // namespace plumbline
