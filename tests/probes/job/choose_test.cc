// Which processes and sockets belong to a job, on built lists of processes.
#include <gmock/gmock.h>

#include "core/json.h"
#include "probes/job/look.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ChooseJob : public testing::Test {
 protected:
  JobProcess& process(int64_t pid, const std::string& program, int64_t parent = 1) {
    SeenProcess seen;
    seen.process.pid = pid;
    seen.process.parent = parent;
    seen.process.started = 100 + pid;
    seen.process.name = seen.process.program = program;
    seen.process.uid = 1000;
    seen.process.environment_seen = seen.process.sockets_seen = true;
    system_.processes.push_back(seen);
    return system_.processes.back().process;
  }
  void connect(int64_t a, int port_a, int64_t b, int port_b) {
    socket(a, "ESTABLISHED", port_a, port_b);
    socket(b, "ESTABLISHED", port_b, port_a);
  }
  JobSocket& socket(int64_t pid, const std::string& state, int port, int peer_port = 0) {
    JobSocket socket;
    socket.ip = "10.0.0.1";
    socket.port = port;
    if (state != "LISTEN") {
      socket.peer_ip = "10.0.0.1";
      socket.peer_port = peer_port;
    }
    socket.state = state;
    socket.pid = pid;
    system_.sockets.push_back(socket);
    return system_.sockets.back();
  }
  std::vector<int64_t> chosen(const JobSelection& selection,
                              const std::vector<JobProcess>& first = {}) {
    look_ = choose_job(system_, selection, first);
    std::vector<int64_t> pids;
    for (const JobProcess& each : look_.processes) pids.push_back(each.pid);
    return pids;
  }
  static JobSelection by_pid(int64_t pid) {
    JobSelection selection;
    selection.pid = pid;
    return selection;
  }

  SystemLook system_;
  JobLook look_;
};

TEST_F(ChooseJob, RanksOfOneMasterPortBelongTogether) {
  process(10, "python3").environment = {{"RANK", "0"}, {"MASTER_PORT", "29500"}};
  process(11, "python3").environment = {{"RANK", "1"}, {"MASTER_PORT", "29500"}};
  process(12, "python3").environment = {{"RANK", "0"}, {"MASTER_PORT", "29700"}};
  process(13, "bash").environment = {{"MASTER_PORT", "29500"}};  // exported in a shell: no rank
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(10, 11));
  EXPECT_EQ(look_.processes[1].why, "same job");
}

TEST_F(ChooseJob, WhatIsConnectedOfTheSameProgramGoesOnAndAStrangerDoesNot) {
  for (const int64_t pid : {10, 11, 12}) process(pid, "ring");
  process(20, "postgres");
  process(21, "psql");
  connect(10, 1, 11, 2);
  connect(11, 3, 12, 4);
  connect(12, 5, 20, 6);
  connect(21, 7, 20, 8);
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(10, 11, 12, 20));
  EXPECT_EQ(look_.processes[3].why, "peer");
  // Of the database only the connection that meets the job.
  EXPECT_THAT(look_.sockets, SizeIs(6));
}

TEST_F(ChooseJob, ThePortsListenerIsAsked) {
  process(10, "server");
  process(11, "client");
  socket(10, "LISTEN", 8000);
  connect(11, 5000, 10, 8000);
  JobSelection selection;
  selection.port = 8000;
  EXPECT_THAT(chosen(selection), ElementsAre(10, 11));
  selection.port = 8001;
  EXPECT_THAT(chosen(selection), IsEmpty());
}

TEST_F(ChooseJob, ALaunchersChildrenAndHydrasRanksBelong) {
  process(5, "mpirun");
  process(10, "job", 5).environment = {{"PMI_RANK", "0"}};
  process(11, "job", 5).environment = {{"PMI_RANK", "1"}};
  process(12, "helper", 5);  // neither a rank nor connected
  process(13, "job", 6).environment = {{"PMI_RANK", "0"}};
  EXPECT_THAT(chosen(by_pid(5)), ElementsAre(5, 10, 11));
  EXPECT_THAT(chosen(by_pid(11)), ElementsAre(10, 11));
}

TEST_F(ChooseJob, ANumberThatWasGivenToAnotherProcessIsNotTheProcess) {
  JobProcess earlier = process(10, "job");
  earlier.started = 7;
  EXPECT_THAT(chosen({}, {earlier}), IsEmpty());
  earlier.started = 110;
  EXPECT_THAT(chosen({}, {earlier}), ElementsAre(10));
}

TEST_F(ChooseJob, WhatCannotBeSeenIsSaid) {
  process(10, "job");
  system_.processes.back().sight = Sight::kElsewhere;
  EXPECT_THAT(chosen(by_pid(10)), IsEmpty());
  EXPECT_THAT(look_.unseen, ElementsAre(HasSubstr("another network namespace")));
  process(11, "root's");
  system_.processes.back().sight = Sight::kOtherUser;
  EXPECT_THAT(chosen(by_pid(11)), ElementsAre(11));
  EXPECT_THAT(look_.unseen, ElementsAre(HasSubstr("may not be read")));
  process(12, "job");
  connect(12, 1, 0, 2);
  chosen(by_pid(12));
  EXPECT_THAT(look_.unseen, ElementsAre(HasSubstr("cannot be seen")));
}

TEST_F(ChooseJob, EndsOnAnotherHostFindTheirOtherEnd) {
  process(10, "job");
  socket(10, "ESTABLISHED", 400, 500);
  JobSelection selection;
  selection.ends.push_back({"10.0.0.1", "10.0.0.1", 500, 400});
  EXPECT_THAT(chosen(selection), ElementsAre(10));
  EXPECT_THAT(look_.sockets, SizeIs(1));
}

TEST_F(ChooseJob, HalfOpenConnectionsToTheJobsListenerAreOfTheJob) {
  process(10, "job");
  socket(10, "LISTEN", 29500);
  socket(0, "SYN-RECV", 29500, 4000);
  socket(0, "SYN-RECV", 29501, 4000);
  chosen(by_pid(10));
  EXPECT_THAT(look_.sockets, SizeIs(2));
}

TEST_F(ChooseJob, ThousandsAreCutAndThatIsSaid) {
  for (int64_t pid = 2; pid < 3000; ++pid) {
    process(pid, "job").environment = {{"RANK", "0"}, {"MASTER_PORT", "1"}};
    for (int i = 0; i < 20; ++i) socket(pid, "ESTABLISHED", 1000 + i, static_cast<int>(pid));
  }
  EXPECT_THAT(chosen(by_pid(2)), SizeIs(kMostJobProcesses));
  EXPECT_LE(look_.sockets.size(), kMostJobSockets);
  EXPECT_THAT(look_.unseen, Contains(HasSubstr("processes: the others are left out")));
  EXPECT_THAT(look_.unseen, Contains(HasSubstr("sockets: the others are left out")));
}

// Nothing else leads there as long as the ranks have not met.
TEST_F(ChooseJob, VariablesAloneFindTheRanksOfAnotherHost) {
  process(10, "job").environment = {{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_NAMESPACE", "77"}};
  process(11, "job").environment = {{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_NAMESPACE", "78"}};
  JobSelection selection;
  selection.identities = {"PMIX_NAMESPACE=77"};
  EXPECT_THAT(chosen(selection), ElementsAre(10));
}

TEST_F(ChooseJob, WhoCallsWhereTheJobListensElsewhereIsFoundWithWhatItStarted) {
  process(5, "orted");
  process(10, "job", 5).environment = {{"OMPI_COMM_WORLD_RANK", "2"}};
  process(6, "curl");
  process(7, "server");
  socket(5, "SYN-SENT", 5000, 21000).peer_ip = "10.0.0.9";
  socket(6, "SYN-SENT", 5001, 21000).peer_ip = "10.0.0.9";
  socket(6, "SYN-SENT", 5001, 21001).peer_ip = "10.0.0.9";
  connect(6, 5002, 7, 80);
  JobSelection selection;
  selection.ends.push_back({"10.0.0.9", "", 21000, 0});
  EXPECT_THAT(chosen(selection), ElementsAre(5, 10, 6));
  EXPECT_EQ(look_.processes[0].why, "launcher");
  EXPECT_EQ(look_.processes[1].why, "below");
  EXPECT_EQ(look_.processes[2].why, "peer");
  EXPECT_THAT(look_.sockets, SizeIs(2));
}

// One daemon that stays may have started both.
TEST_F(ChooseJob, RanksOfTwoJobsBelowOneDaemonAreTwoJobs) {
  process(5, "prted");
  process(10, "job", 5).environment = {{"OMPI_COMM_WORLD_RANK", "0"},
                                       {"PMIX_NAMESPACE", "prte-n-7@1"}};
  process(11, "job", 5).environment = {{"OMPI_COMM_WORLD_RANK", "1"},
                                       {"PMIX_NAMESPACE", "prte-n-7@1"}};
  process(20, "job", 5).environment = {{"OMPI_COMM_WORLD_RANK", "0"},
                                       {"PMIX_NAMESPACE", "prte-n-7@2"}};
  process(21, "helper", 20);
  socket(5, "LISTEN", 21000);
  connect(21, 6000, 21, 6001);
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(5, 10, 11));
  EXPECT_THAT(chosen(by_pid(20)), ElementsAre(5, 20, 21));
}

// MPI_Comm_spawn: of one launch, and of this job.
TEST_F(ChooseJob, RanksThatARankStartedAreOfTheJob) {
  const char* const names[][2] = {{"prterun-node1-7@1", "prterun-node1-7@2"},
                                  {"1234567169", "1234567170"}};
  for (const auto& [first, second] : names) {
    system_ = {};
    process(5, "prterun");
    process(10, "job", 5).environment = {{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_NAMESPACE", first}};
    process(20, "worker", 5).environment = {{"OMPI_COMM_WORLD_RANK", "0"},
                                            {"PMIX_NAMESPACE", second}};
    EXPECT_THAT(chosen(by_pid(10)), ElementsAre(5, 10, 20)) << first;
  }
}

// A client with ranks of its own is no second rank 0 of the job that serves it.
TEST_F(ChooseJob, RanksOfAnotherJobAreAtTheOtherEndAndNoMore) {
  process(10, "serve").environment = {{"RANK", "0"}, {"TORCHELASTIC_RUN_ID", "a"}};
  process(20, "serve").environment = {{"RANK", "0"}, {"TORCHELASTIC_RUN_ID", "b"}};
  process(21, "serve").environment = {{"RANK", "1"}, {"TORCHELASTIC_RUN_ID", "b"}};
  connect(10, 8000, 20, 5000);
  connect(20, 5001, 21, 5002);
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(10, 20));
  EXPECT_EQ(look_.processes[1].why, "other job");
  EXPECT_THAT(look_.sockets, SizeIs(2));
}

// Each host's ranks in a step of their own (srun for each host), and one port where all meet.
TEST_F(ChooseJob, RanksWithOneMasterPortAreOfOneJobInWhicheverStep) {
  for (const int rank : {0, 1}) {
    process(10 + rank, "job").environment = {{"RANK", std::to_string(rank)},
                                             {"MASTER_PORT", "29500"},
                                             {"SLURM_JOB_ID", "5"},
                                             {"SLURM_STEP_ID", std::to_string(rank)}};
  }
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(10, 11));
}

// A rank has nothing in common with those of other hosts but who started them.
TEST_F(ChooseJob, ARanksLauncherIsOfTheJobAndAShellAboveItIsNot) {
  process(3, "bash");
  process(4, "mpiexec.hydra", 3);
  process(5, "hydra_pmi_proxy", 4);
  process(6, "sh", 5);
  process(10, "job", 6).environment = {{"PMI_RANK", "0"}};
  process(20, "mpiexec.hydra", 3);  // of another job
  socket(4, "LISTEN", 21000);
  EXPECT_THAT(chosen(by_pid(10)), ElementsAre(4, 5, 10));
  EXPECT_EQ(look_.processes[0].why, "launcher");
}

TEST_F(ChooseJob, OfALoneProgramThoseThatAreAWorldOfOne) {
  process(10, "job").environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}};
  process(11, "job").environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  process(12, "other").environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}};
  process(13, "job");
  JobSelection selection;
  selection.lone_program = "job";
  EXPECT_THAT(chosen(selection), ElementsAre(10));
  EXPECT_EQ(look_.processes[0].why, "alone");
}

// A file of evidence, or another host, may hold whatever it likes.
TEST_F(ChooseJob, VariablesThatAreNotListedDoNotComeInEither) {
  const nlohmann::json json = {
      {"processes", {{{"pid", 1}, {"environment", {{"RANK", "1"}, {"API_KEY", "x"}}}}}}};
  const auto host = nlohmann::json{{"first", json}}.get<JobHostEvidence>();
  EXPECT_THAT(host.first.processes.at(0).environment, ElementsAre(testing::Pair("RANK", "1")));
}

}  // namespace
}  // namespace plumbline
