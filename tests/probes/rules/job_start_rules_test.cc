// The rules about a job whose ranks do not come together: refused, told the wrong things, alone.
#include <gmock/gmock.h>

#include <algorithm>

#include "probes/judges/judges.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"
#include "probes/stacks/job_plan.h"
#include "rules/job_builder.h"

namespace plumbline {
namespace {

using test::change_rank;
using test::change_sockets;
using test::healthy_job;
using test::job_causes;
using test::job_host_seen;
using test::job_ip;
using test::job_socket;
using test::lose_packets;
using test::nft_rule;
using test::remedy_in;
using test::remove_host;
using test::seen_in;
using test::two_of_mpi;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Hydra's ranks ask their launcher for the others, without a socket.
TEST(JobStartRules, OfMpichsRanksTheOneThatDoesNotAskForTheOthers) {
  EvidenceSet set = two_of_mpi("mpich", "PMI_RANK", "PMI_SIZE");
  const auto sleep_in = [&](const char* host, const char* call) {
    change_rank(set, host, [&](JobProcess& process) { process.system_call = call; });
  };
  sleep_in("a", "read");
  sleep_in("b", "read");
  EXPECT_THAT(job_causes(set), IsEmpty());
  sleep_in("b", "clock_nanosleep");
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing b"));
  EXPECT_THAT(seen_in(set), HasSubstr("has not joined the others"));
  sleep_in("a", "futex");  // none of them waits there: their business is elsewhere
  EXPECT_THAT(job_causes(set), IsEmpty());
  sleep_in("a", "read");
  job_host_seen(set, "b").second->processes.at(0).cpu_ns = 1'000'000'000;  // it works
  EXPECT_THAT(job_causes(set), IsEmpty());
}

// On one machine they may talk through shared memory, and rest wherever they like.
TEST(JobStartRules, OfMpichsRanksOnOneMachineNothingIsGuessed) {
  EvidenceSet set = two_of_mpi("mpich", "PMI_RANK", "PMI_SIZE");
  JobHostEvidence &a = job_host_seen(set, "a"), &b = job_host_seen(set, "b");
  for (const auto& [to, from] :
       {std::pair(&a.first, &b.first), std::pair(&*a.second, &*b.second)}) {
    to->processes.at(0).system_call = "read";
    to->processes.push_back(from->processes.at(0));
    to->processes.back().system_call = "clock_nanosleep";
  }
  remove_host(set, "b");
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobStartRules, ALauncherThatSpeaksToBothLibrariesIsNoWrongOne) {
  EvidenceSet set = two_of_mpi("openmpi", "PMI_RANK", "PMI_SIZE");
  EXPECT_THAT(job_causes(set), ElementsAre("stack.one_rank a", "stack.one_rank b"));
  for (const char* name : {"SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID"}) {
    set = two_of_mpi("openmpi", "PMI_RANK", "PMI_SIZE");
    for (const char* host : {"a", "b"}) {
      change_rank(set, host, [&](JobProcess& process) { process.environment[name] = "0"; });
    }
    EXPECT_THAT(job_causes(set), IsEmpty()) << name;
  }
}

// Seen: the process of another user, of which nothing can be read, made the verdict "ok".
TEST(JobStartRules, WhereOnlyAPartWasSeenNothingIsCalledFine) {
  EvidenceSet set = healthy_job();
  const auto unknown = [&] {
    const std::vector<Check> checks = judge_launch(set, {});
    return std::count_if(checks.begin(), checks.end(), [](const Check& check) {
      return check.outcome == CheckOutcome::kUnknown && check.host == "b";
    });
  };
  EXPECT_EQ(unknown(), 0);
  job_host_seen(set, "b").second->partial = true;
  job_host_seen(set, "b").second->unseen = {"PID 7 (python3) belongs to user 0"};
  EXPECT_EQ(unknown(), 1);
}

// Only the first connection was stuck when it was looked at; the others are as lost.
TEST(JobStartRules, TheRemedyOpensEveryPortOnWhichTheTwoHostsMeet) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  JobHostEvidence& other = job_host_seen(set, "a");
  for (JobLook* look : {&other.first, &*other.second}) {  // b called, and is idle
    look->sockets.push_back(job_socket(100, "10.0.0.1", 29500, "10.0.0.2", 51000));
  }
  FilterRule rule =
      nft_rule("output", "drop", "ip daddr 10.0.0.2 drop", {{"daddr", false, {"10.0.0.2"}}});
  rule.handle = 4;
  set.hosts[0].filters = {rule};
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_outbound a>b"));
  const std::string begin =
      "nft 'insert rule inet filter output position 4 ip saddr 10.0.0.1 ip "
      "daddr 10.0.0.2 tcp ";
  EXPECT_THAT(remedy_in(set), HasSubstr(begin + "dport 40001 accept'"));
  EXPECT_THAT(remedy_in(set), HasSubstr(begin + "sport 29500 "));
}

TEST(JobStartRules, ARankThatWasRefusedAndLeftIsExplainedByTheRule) {
  EvidenceSet set = healthy_job();
  remove_host(set, "c");
  for (const char* host : {"a", "b"}) {
    change_sockets(set, host, "10.0.0.3", [](JobSocket& socket) { socket.pid = 1; });
  }
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing c"));
  set.hosts[0].sysctls["net.ipv4.ip_local_port_range"] = "32768\t60999";
  FilterRule rule = nft_rule("input", "reject", "tcp dport 40000 reject with tcp reset",
                             {{"protocol", false, {"tcp"}}, {"dport", false, {"40000"}}});
  rule.reject_with = "tcp reset";
  set.hosts[0].filters = {rule};
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.reject_rst a>c"));
  EXPECT_THAT(seen_in(set), HasSubstr("nobody of c has come to port 40000, where the job waits"));
  // The next start takes another port of those.
  set.hosts[0].filters[0].matches[1].values = {"39000-41000"};
  EXPECT_THAT(remedy_in(set), HasSubstr("dport 39000-41000 accept"));
  set.hosts[0].filters[0].matches[1].values = {"40009"};  // where nobody waits
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing c"));
}

// It has a connection to rank 0's meeting place, and none on which data could go.
TEST(JobStartRules, ARankThatIsRefusedAgainAndAgainIsExplainedByTheRule) {
  EvidenceSet set = healthy_job(2);
  for (const char* host : {"a", "b"}) {
    JobHostEvidence& seen = job_host_seen(set, host);
    for (JobLook* look : {&seen.first, &*seen.second}) {
      std::erase_if(look->sockets, [](const JobSocket& socket) { return !socket.peer_ip.empty(); });
      const bool first = host == std::string("a");
      look->sockets.push_back(first ? job_socket(100, job_ip(0), 29500, job_ip(1), 50000)
                                    : job_socket(101, job_ip(1), 50000, job_ip(0), 29500));
    }
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
  set.hosts[1].sysctls["net.ipv4.ip_local_port_range"] = "32768\t60999";
  FilterRule rule = nft_rule("input", "reject", "tcp dport 32768-60999 reject",
                             {{"protocol", false, {"tcp"}}, {"dport", false, {"32768-60999"}}});
  rule.reject_with = "icmp port-unreachable";
  set.hosts[1].filters = {rule};
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.reject_icmp b>a"));
}

// In a ring not all hosts meet, and what else a rank listens on is for somebody else.
TEST(JobStartRules, AClosedPortThatNoRankNeedsIsNothing) {
  EvidenceSet set = healthy_job(3);
  for (const char* host : {"a", "c"}) {  // they are no neighbours
    JobHostEvidence& seen = job_host_seen(set, host);
    const std::string other = host == std::string("a") ? job_ip(2) : job_ip(0);
    for (JobLook* look : {&seen.first, &*seen.second}) {
      std::erase_if(look->sockets, [&](const JobSocket& each) { return each.peer_ip == other; });
      look->sockets.push_back(job_socket(look->processes.at(0).pid, "0.0.0.0", 9090));
    }
  }
  set.hosts[0].sysctls["net.ipv4.ip_local_port_range"] = "32768\t60999";
  set.hosts[0].filters = {nft_rule("input", "drop", "tcp dport 9090 drop",
                                   {{"protocol", false, {"tcp"}}, {"dport", false, {"9090"}}}),
                          nft_rule("input", "drop", "tcp dport 40000 drop",
                                   {{"protocol", false, {"tcp"}}, {"dport", false, {"40000"}}})};
  EXPECT_THAT(job_causes(set), IsEmpty());
  // While one is not there, a port that the system chose may be where it was refused.
  remove_host(set, "c");
  change_sockets(set, "b", "10.0.0.3", [](JobSocket& socket) { socket.pid = 1; });
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_inbound a>c"));
  set.hosts[0].filters.pop_back();
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing c"));
}

// Its other ranks may be on a machine that the host file does not name, and all be well.
TEST(JobStartRules, WhereMoreRanksMayBeElsewhereNoHostIsAccused) {
  EvidenceSet set = healthy_job();
  remove_host(set, "c");
  change_sockets(set, "a", "10.0.0.3", [](JobSocket& socket) {
    socket.peer_ip = "10.0.0.99";
    if (socket.port != 29500) socket.port = 29500;
  });
  change_sockets(set, "b", "10.0.0.3", [](JobSocket& socket) { socket.pid = 1; });
  set.hosts[0].filters = {
      nft_rule("input", "drop", "ip saddr 10.0.0.3 drop", {{"saddr", false, {"10.0.0.3"}}})};
  EXPECT_THAT(job_causes(set), IsEmpty());
}

// It is another job, taken in only to see whether all were meant to be one.
TEST(JobStartRules, OfProcessesThatAreAloneNoneHasToRun) {
  EvidenceSet set = two_of_mpi("", "RANK", "WORLD_SIZE");
  for (const char* host : {"a", "b"}) {
    change_rank(set, host, [&](JobProcess& process) {
      process.environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}};
      process.age_s = host == std::string("a") ? 60 : 6000;
      if (host == std::string("b")) process.why = "alone", process.state = "stopped";
    });
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
  change_rank(set, "b", [](JobProcess& process) { process.why = "asked"; });
  EXPECT_THAT(job_causes(set), ElementsAre("job.stopped b"));
}

// It sleeps without a socket because it is refused: that it has not joined follows from it.
TEST(JobStartRules, ARankThatIsKeptAwayFromTheMeetingPlaceHasNoOtherFault) {
  EvidenceSet set = healthy_job(2);
  JobHostEvidence& there = job_host_seen(set, "b");
  for (JobLook* look : {&there.first, &*there.second}) look->sockets.clear();
  JobHostEvidence& here = job_host_seen(set, "a");
  for (JobLook* look : {&here.first, &*here.second}) look->sockets.resize(1);
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing b"));
  FilterRule rule = nft_rule("input", "reject", "tcp dport 29500 reject",
                             {{"protocol", false, {"tcp"}}, {"dport", false, {"29500"}}});
  rule.reject_with = "icmp port-unreachable";
  set.hosts[0].filters = {rule};
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.reject_icmp a>b"));
}

TEST(JobStartRules, AVariableThatNamesNoInterfaceOfItsHost) {
  EvidenceSet set = healthy_job();
  const EvidenceSet talks = set;
  for (JobHostEvidence& host : set.job_seen->hosts) {
    for (JobLook* look : {&host.first, &*host.second}) {
      std::erase_if(look->sockets, [](const JobSocket& socket) { return !socket.peer_ip.empty(); });
      look->processes.at(0).age_s = 1;
    }
  }
  const auto give = [&](const std::string& value) {
    change_rank(set, "b",
                [&](JobProcess& process) { process.environment["GLOO_SOCKET_IFNAME"] = value; });
  };
  for (const char* good : {"eth1", "eth9,eth1", "eth", "^eth9", "10.0.0.0/24", "eth9:1", ""}) {
    give(good);
    EXPECT_THAT(job_causes(set), IsEmpty()) << good;
  }
  give("eth9");
  EXPECT_THAT(job_causes(set), ElementsAre("stack.interface b"));
  EXPECT_THAT(seen_in(set), HasSubstr("GLOO_SOCKET_IFNAME='eth9', and b has no such interface"));
  give("eth1");
  change_rank(set, "b", [&](JobProcess& process) {
    process.environment["OMPI_MCA_btl_tcp_if_exclude"] = "eth9";
  });
  EXPECT_THAT(job_causes(set), IsEmpty());
  // The variable is another stack's: this one gets on.
  set = talks;
  give("eth9");
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobStartRules, AnMpiThatAnotherOnesLauncherStartedIsAlone) {
  const EvidenceSet set = two_of_mpi("openmpi", "PMI_RANK", "PMI_SIZE");
  EXPECT_THAT(job_causes(set), ElementsAre("stack.one_rank a", "stack.one_rank b"));
  EXPECT_THAT(remedy_in(set), HasSubstr("start it with mpirun.openmpi"));
  EXPECT_THAT(job_causes(two_of_mpi("mpich", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")),
              ElementsAre("stack.one_rank a", "stack.one_rank b"));
  EXPECT_THAT(job_causes(two_of_mpi("mpich", "PMI_RANK", "PMI_SIZE")), IsEmpty());
  EXPECT_THAT(job_causes(two_of_mpi("", "PMI_RANK", "PMI_SIZE")), IsEmpty());
  EvidenceSet slurm = two_of_mpi("openmpi", "PMI_RANK", "PMI_SIZE");
  for (const char* host : {"a", "b"}) {
    change_rank(slurm, host,
                [](JobProcess& process) { process.environment["SLURM_PROCID"] = "0"; });
  }
  EXPECT_THAT(job_causes(slurm), IsEmpty());
}

TEST(JobStartRules, ARangeWithFewerPortsThanRanks) {
  EvidenceSet set = two_of_mpi("mpich", "PMI_RANK", "PMI_SIZE");
  const auto give = [&](const std::string& range) {
    change_rank(set, "a",
                [&](JobProcess& process) { process.environment["UCX_TCP_PORT_RANGE"] = range; });
  };
  JobHostEvidence& host = job_host_seen(set, "a");
  host.second->sockets = {job_socket(7, "0.0.0.0", 21000)};  // of its launcher
  give("21000-21000");
  EXPECT_THAT(job_causes(set), ElementsAre("tcp.port_collision a"));
  EXPECT_THAT(remedy_in(set), HasSubstr("UCX_TCP_PORT_RANGE=21001-21001"));
  for (const char* enough : {"21000-21001", "21001-21001", "0", "many", "9-8"}) {
    give(enough);
    EXPECT_THAT(job_causes(set), IsEmpty()) << enough;
  }
}

TEST(JobStartRules, TheModelOfItsLibrarySaysWhatLeavesNoTrace) {
  EvidenceSet set = two_of_mpi("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  for (HostEvidence& host : set.hosts) {
    InterfaceEvidence data, docker;
    data.name = "eth1";
    data.index = 2;
    data.addresses = {{job_host_seen(set, host.name).addresses.at(1).ip, 24, "global", {}}};
    docker.name = "docker0";
    docker.index = 3;
    docker.addresses = {{"172.17.0.1", 16, "global", {}}};
    data.up = docker.up = true;
    host.interfaces = {data, docker};
  }
  const auto plan = plan_of_job(set);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->stack, "openmpi");
  set.stack = plan;
  EXPECT_THAT(job_causes(set), ElementsAre("stack.interface a>b", "stack.interface b>a"));
  // Ranks that talk chose well enough.
  EvidenceSet talks = healthy_job(2);
  for (JobHostEvidence& host : talks.job_seen->hosts) {
    host.first.processes.at(0).mpi = host.second->processes.at(0).mpi = "openmpi";
  }
  EXPECT_FALSE(plan_of_job(talks));
  change_rank(set, "b", [](JobProcess& process) { process.mpi = "mpich"; });
  EXPECT_FALSE(plan_of_job(set));
}

TEST(JobStartRules, ProcessesThatEachAreAWorldOfOneAreWarnedOf) {
  EvidenceSet set = two_of_mpi("", "RANK", "WORLD_SIZE");
  for (const char* host : {"a", "b"}) {
    change_rank(set, host, [](JobProcess& process) {
      process.environment = {
          {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", std::to_string(process.pid)}};
    });
  }
  const auto findings = find_causes(set, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, "stack.one_rank");
  EXPECT_EQ(findings[0].outcome, Severity::kWarn);
  EXPECT_THAT(seen_in(set), HasSubstr("has WORLD_SIZE=1, and so have 1 others"));
  // Of another start, or another program.
  EvidenceSet later = set;
  change_rank(later, "b", [](JobProcess& process) { process.age_s = 600; });
  EXPECT_THAT(job_causes(later), IsEmpty());
  EvidenceSet other = set;
  change_rank(other, "b", [](JobProcess& process) { process.program = "other"; });
  EXPECT_THAT(job_causes(other), IsEmpty());
}

}  // namespace
}  // namespace plumbline
