// The rules about somebody's own job, on built evidence: each cause where it is the cause, and
// where it nearly is.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "probes/filters/parse_filters.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"
#include "rules/job_builder.h"

namespace plumbline {
namespace {

using test::block_reader;
using test::change_rank;
using test::change_sockets;
using test::healthy_job;
using test::job_causes;
using test::job_host_seen;
using test::job_socket;
using test::lose_packets;
using test::remedy_in;
using test::remove_host;
using test::seen_in;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void stop(JobProcess& process) { process.state = "stopped"; }

void never_answer(EvidenceSet& set) {
  JobHostEvidence& caller = job_host_seen(set, "b");
  for (JobLook* look : {&caller.first, &*caller.second}) {
    std::erase_if(look->sockets, [](const JobSocket& socket) { return !socket.peer_ip.empty(); });
    JobSocket asking = job_socket(101, "10.0.0.2", 50100, "10.0.0.1", 29500);
    asking.state = "SYN-SENT";
    asking.tcp->retransmits = 2;
    look->sockets.push_back(asking);
  }
  for (const char* host : {"a", "c"}) {
    JobHostEvidence& other = job_host_seen(set, host);
    for (JobLook* look : {&other.first, &*other.second}) {
      std::erase_if(look->sockets,
                    [](const JobSocket& socket) { return socket.peer_ip == "10.0.0.2"; });
    }
  }
}

void remove_connections_of_b(EvidenceSet& set) {
  never_answer(set);
  JobHostEvidence& host = job_host_seen(set, "b");
  for (JobLook* look : {&host.first, &*host.second}) look->sockets.clear();
}

TEST(JobRules, AnIdleJobIsHealthy) {
  EXPECT_THAT(job_causes(healthy_job()), IsEmpty());
  EXPECT_THAT(job_causes(EvidenceSet{}), IsEmpty());
}

// It has sent all that it had, and the other one computes: the bytes wait, nobody waits.
TEST(JobRules, UnreadBytesAloneAreNothing) {
  EvidenceSet set = healthy_job();
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) { socket.receive_queue = 64; });
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, OneThatDoesNotReadIsNamedWithItsUnreadBytes) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading b"));
  EXPECT_THAT(seen_in(set), HasSubstr("rank 1 (PID 101, python3) has 4321 unread bytes from rank 0 "
                                      "(PID 100, python3) on a"));
  EXPECT_THAT(seen_in(set), HasSubstr("99999 more wait there; it sleeps in epoll_wait"));
}

// Its system throws away what its full buffer does not take, and the sender sends it again.
TEST(JobRules, AnOverflowOfTheReadersBufferIsNoLossOfTheNetwork) {
  EvidenceSet set = healthy_job();
  lose_packets(set, "a", "b");
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) { socket.receive_queue = 77; });
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading b"));
}

TEST(JobRules, OneThatComputesMayReadLater) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");
  job_host_seen(set, "b").second->processes.at(0).cpu_ns = 1'900'000'000;
  const auto findings = find_causes(set, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, "job.not_reading");
  EXPECT_EQ(findings[0].outcome, Severity::kWarn);
  EXPECT_THAT(seen_in(set), HasSubstr("works on something else"));
}

TEST(JobRules, OneThatReadsSlowlyReads) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");
  for (JobSocket& socket : job_host_seen(set, "b").second->sockets) {
    if (socket.peer_ip == "10.0.0.1") socket.tcp->bytes_received += 100;
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, WhoCannotSendOnIsAVictim) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");  // b does not read because c does not
  block_reader(set, "b", "c");
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading c"));
}

TEST(JobRules, InACircleEachWaitsForTheNext) {
  EvidenceSet set = healthy_job(2);
  change_sockets(set, "a", "10.0.0.2", [](JobSocket& socket) {
    socket.receive_queue = 10;
    socket.send_queue = 20;
  });
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) {
    socket.receive_queue = 10;
    socket.send_queue = 20;
  });
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading a", "job.not_reading b"));
}

TEST(JobRules, AStoppedRankIsNamedAndNotWhatFollowsFromIt) {
  EvidenceSet set = healthy_job();
  change_rank(set, "b", stop);
  block_reader(set, "a", "b");
  block_reader(set, "c", "a");
  EXPECT_THAT(job_causes(set), ElementsAre("job.stopped b"));
  EXPECT_THAT(remedy_in(set), HasSubstr("kill -CONT 101"));
}

TEST(JobRules, StoppedInOneLookIsNothing) {
  EvidenceSet set = healthy_job();
  stop(job_host_seen(set, "b").second->processes.at(0));
  EXPECT_THAT(job_causes(set), IsEmpty());
  // Another process with the same number.
  set = healthy_job();
  change_rank(set, "b", stop);
  job_host_seen(set, "b").second->processes.at(0).started = 9999;
  EXPECT_THAT(job_causes(set), ElementsAre("rank.dead b"));
}

TEST(JobRules, ARankThatNeverCameIsMissingWhereNoneIs) {
  EvidenceSet set = healthy_job();
  remove_host(set, "c");
  for (const char* host : {"a", "b"}) {
    change_sockets(set, host, "10.0.0.3", [](JobSocket& socket) { socket.pid = 1; });
  }
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing c"));
  EXPECT_THAT(seen_in(set), HasSubstr("rank 2 of 3 is not on c"));
}

TEST(JobRules, RanksAreNotMissingWhileOthersStartOrCannotBeSeen) {
  EvidenceSet young = healthy_job();
  remove_host(young, "c");
  change_rank(young, "a", [](JobProcess& process) { process.age_s = 2; });
  change_rank(young, "b", [](JobProcess& process) { process.age_s = 1; });
  EXPECT_THAT(job_causes(young), IsEmpty());
  EvidenceSet dark = healthy_job();
  remove_host(dark, "c");
  job_host_seen(dark, "c").error = "no agent";
  EXPECT_THAT(job_causes(dark), IsEmpty());
  EvidenceSet alone = healthy_job();
  alone.job_seen->alone = true;
  alone.job_seen->hosts.resize(1);
  EXPECT_THAT(job_causes(alone), IsEmpty());
}

TEST(JobRules, OneWhoseConnectionsWereClosedHasDied) {
  EvidenceSet set = healthy_job();
  remove_host(set, "b");
  change_sockets(set, "a", "10.0.0.2", [](JobSocket& socket) { socket.state = "CLOSE-WAIT"; });
  EXPECT_THAT(job_causes(set), ElementsAre("rank.dead b"));
}

TEST(JobRules, OneThatEndsWhileOthersGoOnIsDeadAndAJobThatIsOverIsNot) {
  EvidenceSet set = healthy_job();
  job_host_seen(set, "b").second->processes.clear();
  EXPECT_THAT(job_causes(set), ElementsAre("rank.dead b"));
  for (const char* host : {"a", "c"}) job_host_seen(set, host).second->processes.clear();
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, ConfigurationThatDiffers) {
  EvidenceSet set = healthy_job();
  change_rank(set, "c", [](JobProcess& process) { process.environment["WORLD_SIZE"] = "4"; });
  EXPECT_THAT(job_causes(set), ElementsAre("config.mismatch c"));
  EXPECT_THAT(seen_in(set), HasSubstr("WORLD_SIZE='4', others have '3'"));
  set = healthy_job();
  change_rank(set, "c", [](JobProcess& process) { process.environment["RANK"] = "1"; });
  EXPECT_THAT(job_causes(set), testing::Contains("config.mismatch c"));
  // Connected all the same: a name and an address of one host.
  set = healthy_job();
  change_rank(set, "a", [](JobProcess& process) { process.environment["MASTER_ADDR"] = "a"; });
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, WorkersOfARankAreNoRanks) {
  EvidenceSet set = healthy_job();
  JobHostEvidence& host = job_host_seen(set, "b");
  for (JobLook* look : {&host.first, &*host.second}) {
    JobProcess worker = look->processes.at(0);
    worker.pid = 900;
    worker.parent = 101;
    worker.state = "stopped";
    look->processes.push_back(worker);
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
}

void listen_only_on(EvidenceSet& set, const std::string& host, const std::string& ip) {
  JobHostEvidence& seen = job_host_seen(set, host);
  for (JobLook* look : {&seen.first, &*seen.second}) {
    const int64_t pid = look->processes.at(0).pid;
    std::erase_if(look->sockets, [](const JobSocket& socket) { return socket.port != 29500; });
    look->sockets.push_back(job_socket(pid, ip, 41000));
  }
}

TEST(JobRules, AListenerOnLoopbackIsOutOfReach) {
  EvidenceSet set = healthy_job();
  listen_only_on(set, "a", "127.0.1.1");
  EXPECT_THAT(job_causes(set), ElementsAre("name.loopback a"));
  EXPECT_THAT(remedy_in(set), HasSubstr("GLOO_SOCKET_IFNAME=eth1"));
  // The others have found no way to it, and are gone.
  for (const char* host : {"b", "c"}) remove_host(set, host);
  EXPECT_THAT(job_causes(set), ElementsAre("name.loopback a"));
  // On one host it is where it belongs.
  set.job_seen->hosts.resize(1);
  set.job_seen->alone = true;
  change_rank(set, "a", [](JobProcess& process) {
    process.environment["MASTER_ADDR"] = "127.0.0.1";
    process.environment["WORLD_SIZE"] = "1";
  });
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, AListenerInANetworkOfItsOwnIsOutOfReach) {
  EvidenceSet set = healthy_job();
  for (const char* host : {"a", "b", "c"}) {  // every host has one
    job_host_seen(set, host).addresses.push_back({"172.17.0.1", "docker0", "bridge", 16});
  }
  listen_only_on(set, "b", "172.17.0.1");
  EXPECT_THAT(job_causes(set), ElementsAre("stack.interface b"));
  EXPECT_THAT(seen_in(set), HasSubstr("172.17.0.1:41000 (docker0)"));
  listen_only_on(set, "b", "0.0.0.0");
  EXPECT_THAT(job_causes(set), IsEmpty());
}

// Open MPI, which takes every interface: 172.17.0.1 is the rank itself.
TEST(JobRules, OneThatTalksToItselfAtAnAddressThatOthersHaveToo) {
  EvidenceSet set = healthy_job();
  for (const char* name : {"a", "b", "c"}) {
    JobHostEvidence& host = job_host_seen(set, name);
    host.addresses.push_back({"172.17.0.1", "docker0", "bridge", 16});
    for (JobLook* look : {&host.first, &*host.second}) {
      const int64_t pid = look->processes.at(0).pid;
      look->sockets = {job_socket(pid, "0.0.0.0", 1024),
                       job_socket(pid, "172.17.0.1", 40100, "172.17.0.1", 1024),
                       job_socket(pid, "172.17.0.1", 1024, "172.17.0.1", 40100)};
    }
  }
  EXPECT_THAT(job_causes(set),
              ElementsAre("stack.interface a", "stack.interface b", "stack.interface c"));
}

TEST(JobRules, AnAddressThatTheHostFileDoesNotNameAndNobodyAnswersAt) {
  EvidenceSet set = healthy_job();
  never_answer(set);
  for (const char* name : {"a", "b"}) {
    const std::string ip = std::string("10.80.0.") + (*name == 'a' ? "1" : "2");
    job_host_seen(set, name).addresses.push_back({ip, "eth2", "ethernet", 24});
  }
  change_sockets(set, "b", "10.0.0.1", [](JobSocket& socket) {
    socket.ip = "10.80.0.2";
    socket.peer_ip = "10.80.0.1";
  });
  EXPECT_THAT(job_causes(set), testing::Contains("stack.interface b"));
}

TEST(JobRules, ARankThatSleepsWithoutASocketHasNotJoined) {
  EvidenceSet set = healthy_job();
  remove_connections_of_b(set);
  EXPECT_THAT(job_causes(set), ElementsAre("rank.missing b"));
  EXPECT_THAT(seen_in(set), HasSubstr("has not joined the others"));
  // Where no rank has one, sockets are not how they talk.
  for (const char* name : {"a", "c"}) {
    JobHostEvidence& host = job_host_seen(set, name);
    for (JobLook* look : {&host.first, &*host.second}) look->sockets.clear();
  }
  EXPECT_THAT(job_causes(set), IsEmpty());
}

TEST(JobRules, WhoHasMetAMissingRankSaysThatItDied) {
  EvidenceSet set = healthy_job();
  remove_host(set, "c");
  for (const char* name : {"a", "b"}) {
    JobHostEvidence& host = job_host_seen(set, name);
    for (JobLook* look : {&host.first, &*host.second}) {
      std::erase_if(look->sockets, [](const JobSocket& socket) {
        return (socket.state == "LISTEN" && socket.port != 29500) || socket.peer_ip == "10.0.0.3";
      });
    }
  }
  EXPECT_THAT(job_causes(set), ElementsAre("rank.dead c"));
}

TEST(JobRules, TheMeetingPlaceOnLoopback) {
  EvidenceSet set = healthy_job();
  JobHostEvidence& host = job_host_seen(set, "a");
  for (JobLook* look : {&host.first, &*host.second}) look->sockets.at(0).ip = "127.0.0.1";
  EXPECT_THAT(job_causes(set), ElementsAre("tcp.listener_wrong_address a"));
}

// A client with ranks of its own neither votes for the size nor is a second rank 0.
TEST(JobRules, RanksOfAnotherJobAreNone) {
  EvidenceSet set = healthy_job();
  for (const char* host : {"b", "c"}) {
    change_rank(set, host, [](JobProcess& process) {
      process.why = "other job";
      process.environment["WORLD_SIZE"] = "7";
    });
  }
  change_rank(set, "a", [](JobProcess& process) { process.environment["WORLD_SIZE"] = "1"; });
  EXPECT_THAT(job_causes(set), IsEmpty());
  const auto facts = job_facts(set);
  ASSERT_TRUE(facts);
  EXPECT_EQ(world_size(facts->members), 1);
}

TEST(JobRules, ARankThatAsksInVainIsNamedWithThePort) {
  EvidenceSet set = healthy_job();
  never_answer(set);
  const auto findings = find_causes(set, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].cause, "firewall.drop_path");
  EXPECT_EQ(findings[0].host, "b");
  EXPECT_EQ(findings[0].peer, "a");
  EXPECT_EQ(findings[0].port, 29500);
  // It came there, and the answer is lost.
  JobSocket half = job_socket(0, "10.0.0.1", 29500, "10.0.0.2", 50100);
  half.state = "SYN-RECV";
  job_host_seen(set, "a").second->sockets.push_back(half);
  EXPECT_THAT(job_causes(set), ElementsAre("firewall.drop_path a>b"));
}

TEST(JobRules, WhereTheLadderNamesACauseNothingIsGuessed) {
  EvidenceSet set = healthy_job();
  never_answer(set);
  Check check;
  check.id = "route";
  check.key = "route/b>a";
  check.host = "b";
  check.peer = "a";
  check.outcome = CheckOutcome::kFail;
  EXPECT_THAT(find_causes(set, {check}), IsEmpty());
}

TEST(JobRules, AFullQueueOfConnectionsIsNotTheNetwork) {
  EvidenceSet set = healthy_job();
  never_answer(set);
  JobHostEvidence& host = job_host_seen(set, "a");
  for (JobLook* look : {&host.first, &*host.second}) {
    look->sockets.at(0).receive_queue = 129;
  }
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading a"));
  EXPECT_THAT(seen_in(set), HasSubstr("129 connections wait on port 29500"));
}

// A rank that has no connection yet may still load its model.
TEST(JobRules, ARankWithoutConnectionsIsLookedAtAndNotJudged) {
  EvidenceSet set = healthy_job();
  remove_connections_of_b(set);
  job_host_seen(set, "b").second->processes.at(0).cpu_ns = 1'000'000'000;
  EXPECT_THAT(job_causes(set), IsEmpty());
  const auto facts = job_facts(set);
  ASSERT_TRUE(facts);
  const std::vector<StuckPair> stuck = stuck_pairs(*facts);
  ASSERT_EQ(stuck.size(), 1u);
  EXPECT_EQ(stuck[0].from, "b");
  EXPECT_EQ(stuck[0].port, 29500);
}

TEST(JobRules, OfAPeerThatIsNotSeenItsClosedWindowTells) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");
  remove_host(set, "b");
  job_host_seen(set, "b").error = "no agent";
  EXPECT_THAT(job_causes(set), ElementsAre("job.not_reading b"));
  EXPECT_THAT(seen_in(set), HasSubstr("10.0.0.2:40001 takes nothing"));
}

TEST(JobRules, EvidenceWithAJobIsReadBackAsItWas) {
  EvidenceSet set = healthy_job();
  block_reader(set, "a", "b");
  const auto again = parse_evidence(evidence_text(set));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(job_causes(*again), job_causes(set));
  EXPECT_EQ(evidence_text(*again), evidence_text(set));
}

// A file may name members, connections and parents in any way.
TEST(JobRules, CirclesOfParentsAndTornLooksAreSurvived) {
  EvidenceSet set = healthy_job();
  change_rank(set, "a", [](JobProcess& process) { process.parent = process.pid; });
  JobHostEvidence& host = job_host_seen(set, "b");
  JobProcess other = host.first.processes.at(0);
  other.pid = 500;
  other.parent = 101;
  host.first.processes.at(0).parent = 500;
  host.first.processes.push_back(other);
  host.second->processes.clear();
  job_host_seen(set, "c").second->sockets.clear();
  job_causes(set);
}

}  // namespace
}  // namespace plumbline
