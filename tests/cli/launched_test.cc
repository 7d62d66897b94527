// run and coll as several processes of one launched world, in torchrun's environment on loopback:
// whole worlds, and worlds in which somebody is missing, doubled, foreign, or dies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/clock.h"
#include "core/record/record.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kScenario = R"({
  "plumbline": 1, "question": "Do launched ranks measure?", "hosts": {"local": 2},
  "launch": {"port_base": "auto"}, "roofs": false, "probes": ["link"],
  "matrix": [
    {"kind": "latency", "op": "allreduce", "bytes": [8, 4096], "ranks": [RANKS], "stop": {"max_time": "30ms"}},
    {"kind": "check", "op": ["alltoall", "broadcast"], "bytes": 1000, "ranks": [RANKS]}],
  "report": ["console"], "seed": 7
})";

// Long enough for somebody to die in the middle of it.
constexpr const char* kLong = R"({
  "plumbline": 1, "question": "Does it survive?", "hosts": {"local": 2},
  "launch": {"port_base": "auto"}, "roofs": false, "probes": [],
  "matrix": [{"kind": "latency", "op": "allreduce", "bytes": {"from": 8, "to": "4Ki", "factor": 2},
              "repeat": 3, "stop": {"ci": 0, "max_n": 10000000, "max_time": "100ms"}}],
  "report": ["console"], "seed": 7
})";
constexpr size_t kLongCells = 30;

// Nobody else may read it, else it is no secret.
std::string secret_file(const ScratchFolder& folder, const std::string& name,
                        const std::string& text) {
  const std::string path = folder.write(name, text);
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return path;
}

class LaunchedWorld : public testing::Test {
 protected:
  void scenario(std::string text, const std::string& ranks = "2") {
    for (size_t at; (at = text.find("RANKS")) != std::string::npos;) text.replace(at, 5, ranks);
    folder_.write("scenario.json", text);
  }
  std::vector<std::string> run_arguments(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", folder_.path("scenario.json"), "--out", folder_.path("out")});
    return more;
  }
  // One process more of the world; later variables beat earlier ones.
  Program& start(int rank, int size, const std::vector<std::string>& arguments,
                 std::vector<std::string> variables = {}) {
    for (const std::string& variable :
         {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size),
          "LOCAL_RANK=" + std::to_string(rank), std::string("MASTER_ADDR=127.0.0.1"),
          "MASTER_PORT=" + std::to_string(port_)}) {
      variables.push_back(variable);
    }
    programs_.push_back(std::make_unique<Program>(plumbline_argv(arguments), variables));
    return *programs_.back();
  }
  void start_all(int size, const std::vector<std::string>& arguments) {
    for (int rank = 0; rank < size; ++rank) start(rank, size, arguments);
  }
  std::vector<int> wait_all() {
    std::vector<int> codes;
    for (const auto& program : programs_) codes.push_back(program->wait());
    return codes;
  }
  std::vector<Record> records() const {
    const auto read = read_records(folder_.path("out/records.jsonl"));
    EXPECT_TRUE(read) << read.error().message();
    return read ? *read : std::vector<Record>{};
  }
  // Waits until the running world has written so many records.
  bool wait_for_records(size_t count) const {
    const Deadline deadline = Deadline::after_ms(30'000);
    while (!deadline.passed()) {
      if (record_count(folder_.path("out/records.jsonl")) >= count) return true;
      usleep(10'000);
    }
    return false;
  }
  std::vector<pid_t> all_pids() const {
    std::vector<pid_t> pids;
    for (const auto& program : programs_) {
      pids.push_back(program->pid());
      for (const pid_t child : program->children()) pids.push_back(child);
    }
    return pids;
  }
  std::string everything() const {
    std::string text;
    for (const auto& program : programs_) text += program->out() + program->err();
    return text;
  }

  const ScratchFolder folder_;
  const int port_ = test::free_port();
  std::vector<std::unique_ptr<Program>> programs_;
};

TEST_F(LaunchedWorld, IsOneRunInTheListOfRuns) {
  scenario(kScenario);
  for (const int rank : {0, 1}) {
    start(rank, 2, run_arguments({"--only", "kind=check"}),
          {"XDG_STATE_HOME=" + folder_.path("state")});
  }
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << everything();
  size_t entries = 0;
  const std::string runs = folder_.path("state/plumbline/runs");
  for (const auto& file : std::filesystem::directory_iterator(runs)) {
    EXPECT_EQ(file.path().extension(), ".json");
    ++entries;
  }
  EXPECT_EQ(entries, 1u);
}

TEST_F(LaunchedWorld, FourRanksMeasureAndOneSpeaks) {
  scenario(kScenario, "2, 4, 3");
  start_all(4, run_arguments());
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0, 0, 0})) << everything();
  EXPECT_THAT(programs_[0]->out(), HasSubstr("12 cells: 12 pass"));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("torchrun placed 4 ranks"));
  for (size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(programs_[rank]->out(), "");
    EXPECT_EQ(programs_[rank]->err(), "");
  }
  EXPECT_THAT(read_file(folder_.path("out/evidence.json")), HasSubstr("\"source\":"));  // probed
  const std::vector<Record> all = records();
  EXPECT_EQ(all.size(), 12u);
  for (const Record& record : all) {
    EXPECT_EQ(record.environment.control, "data-network");
    EXPECT_EQ(record.environment.auth, "rendezvous");
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed);
    if (record.cell.kind != CellKind::kLatency) continue;
    EXPECT_EQ(record.measurement.per_rank.size(), static_cast<size_t>(record.cell.ranks));
  }
}

TEST_F(LaunchedWorld, OneRankIsAWorldOfOneAndNeverMore) {
  scenario(kScenario, "1");
  start(0, 1, run_arguments());
  EXPECT_EQ(wait_all(), std::vector<int>{0}) << everything();
  scenario(kScenario, "2");
  Program& second = start(0, 1, run_arguments());
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.err(), HasSubstr("2 ranks, but the hosts have places for 1"));
}

TEST_F(LaunchedWorld, CollCountsTheLaunchersRanks) {
  start_all(
      3, {"coll", "allreduce", "-b", "8", "-e", "64", "-f", "8", "--port-base", "auto", "--json"});
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0, 0})) << everything();
  const std::string file = folder_.write("records.jsonl", programs_[0]->out());
  const auto all = read_records(file);
  ASSERT_TRUE(all) << programs_[0]->out();
  ASSERT_EQ(all->size(), 4u);
  for (const Record& record : *all) EXPECT_EQ(record.cell.ranks, 3);
  EXPECT_EQ(programs_[1]->out() + programs_[2]->out(), "");
}

TEST_F(LaunchedWorld, CollRefusesMoreRanksThanThereAre) {
  start_all(2, {"coll", "allreduce", "-b", "8", "-e", "8", "--port-base", "auto", "--ranks", "3"});
  EXPECT_EQ(wait_all().front(), 1);
  EXPECT_THAT(programs_[0]->err(), HasSubstr("--ranks 3 but the hosts have 2 places"));
}

TEST_F(LaunchedWorld, MissingRankIsNamedInTime) {
  scenario(kScenario);
  const int64_t begin = monotonic_ns();
  // It says so after 2 s, and 5 s later again, should rank 1 have come late.
  for (const int rank : {0, 1}) start(rank, 3, run_arguments({"--connect-timeout-ms", "8s"}));
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(),
              ContainsRegex("2 of 3 ranks have arrived after [0-9]+ s; missing: rank 2"));
  EXPECT_LT(monotonic_ns() - begin, 25 * kSecond);  // not only after the default, 30 s
  EXPECT_THAT(programs_[0]->err(), HasSubstr("rank 2 of 3 did not arrive at 127.0.0.1 port"));
  EXPECT_EQ(programs_[1]->err(), "");  // rank 0 said it
  EXPECT_EQ(read_file(folder_.path("out/records.jsonl")), "");
}

TEST_F(LaunchedWorld, MissingRankZeroIsNamed) {
  scenario(kScenario);
  Program& lonely = start(1, 2, run_arguments({"--connect-timeout-ms", "1s"}));
  EXPECT_EQ(lonely.wait(), 2);
  EXPECT_THAT(lonely.err(), HasSubstr("plumbline rank 1: rank 0 could not be met at 127.0.0.1"));
  EXPECT_EQ(lonely.out(), "");
}

TEST_F(LaunchedWorld, DuplicateRankIsNamedWithBothProcesses) {
  scenario(kScenario);
  start(0, 3, run_arguments());
  Program& first = start(1, 3, run_arguments());
  Program& second = start(1, 3, run_arguments({"--connect-timeout-ms", "10s"}));
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2, 2}));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("two processes are rank 1"));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("pid " + std::to_string(first.pid())));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("pid " + std::to_string(second.pid())));
}

TEST_F(LaunchedWorld, OtherWorldSizeIsNamed) {
  scenario(kScenario);
  start(0, 3, run_arguments());
  start(1, 2, run_arguments());
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("counts 2 ranks (torchrun), rank 0 counts 3"));
}

TEST_F(LaunchedWorld, StrangersAtTheMasterPortDoNoHarm) {
  scenario(kScenario);
  start(0, 2, run_arguments());
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port_));
  std::vector<Fd> strangers;
  for (int i = 0; i < 40; ++i) {
    Fd fd(socket(AF_INET, SOCK_STREAM, 0));
    for (int n = 0; n < 500 && connect(fd.get(), address->get(), address->length) != 0; ++n) {
      usleep(20'000);
    }
    const std::string garbage = i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : std::string(5000, '\xff');
    send(fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(fd));
  }
  start(1, 2, run_arguments());
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << everything();
}

TEST_F(LaunchedWorld, ConfigurationDriftNamesTheKey) {
  scenario(kScenario);
  start(0, 2, run_arguments());
  start(1, 2, run_arguments(), {"PLUMBLINE_TRANSPORT_CRC=on"});
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("transport_crc: off on rank 0, on on rank 1"));
}

TEST_F(LaunchedWorld, OwnOptionsThatDifferAreTold) {
  scenario(kScenario);
  start(0, 2, run_arguments());
  start(1, 2, run_arguments(), {"MCCL_LOG_LEVEL=ERROR"});
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << everything();
  EXPECT_THAT(
      programs_[0]->err(),
      HasSubstr("MCCL_LOG_LEVEL: not set on rank 0, ERROR on rank 1; rank 0's value counts"));
}

TEST_F(LaunchedWorld, ARankWithoutTheScenarioFileTakesPart) {
  scenario(kScenario);
  start(0, 2, run_arguments());
  start(1, 2, {"run", folder_.path("not_here.json"), "--out", folder_.path("out")});
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << everything();
}

TEST_F(LaunchedWorld, AnotherScenarioFileIsNamed) {
  scenario(kScenario);
  const std::string other = folder_.write("other.json", kLong);
  start(0, 2, run_arguments());
  start(1, 2, {"run", other, "--out", folder_.path("out")});
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("scenario: "));
}

TEST_F(LaunchedWorld, TokenFileAuthenticates) {
  scenario(kScenario);
  const std::string token = "a-secret-of-sufficient-length";
  const std::string own = "PLUMBLINE_TOKEN_FILE=" + secret_file(folder_, "token", token + "\n");
  for (const int rank : {0, 1}) start(rank, 2, run_arguments({"--log-level", "TRACE"}), {own});
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << everything();
  for (const Record& record : records()) EXPECT_EQ(record.environment.auth, "token");
  EXPECT_THAT(everything() + read_file(folder_.path("out/records.jsonl")), Not(HasSubstr(token)));
}

TEST_F(LaunchedWorld, AnotherTokenKeepsARankOut) {
  scenario(kScenario);
  const std::string own =
      "PLUMBLINE_TOKEN_FILE=" + secret_file(folder_, "a", "a-secret-of-good-length\n");
  const std::string other =
      "PLUMBLINE_TOKEN_FILE=" + secret_file(folder_, "b", "another-secret-of-this\n");
  start(0, 2, run_arguments({"--connect-timeout-ms", "6s"}), {own});
  start(1, 2, run_arguments({"--connect-timeout-ms", "6s"}), {other});
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(), HasSubstr("rank 1 of 2 did not arrive"));
  EXPECT_THAT(programs_[1]->err(), HasSubstr("has another run token"));
}

TEST_F(LaunchedWorld, ContradictingVariablesAreRefused) {
  scenario(kScenario);
  const std::vector<std::string> hydra = {"PMI_RANK=0", "PMI_SIZE=4", "MPI_LOCALNRANKS=4"};
  Program& program = start(0, 1, run_arguments(), hydra);
  EXPECT_EQ(program.wait(), 1);
  EXPECT_THAT(program.err(), HasSubstr("PMI_SIZE=4"));
  EXPECT_THAT(program.err(), HasSubstr("WORLD_SIZE=1"));
  // ... unless the user says that there is no launcher: then this process runs alone.
  Program& alone = start(0, 1, run_arguments({"--launcher", "none", "--quiet"}), hydra);
  EXPECT_EQ(alone.wait(), 0) << alone.err();
  Program& unknown = start(0, 1, run_arguments({"--launcher", "mpi"}));
  EXPECT_EQ(unknown.wait(), 1);
  EXPECT_THAT(unknown.err(), HasSubstr("openmpi"));
}

TEST_F(LaunchedWorld, KilledRankEndsTheRunAndResumeGoesOn) {
  scenario(kLong);
  start_all(3, run_arguments());
  ASSERT_TRUE(wait_for_records(4)) << everything();
  const std::vector<pid_t> pids = all_pids();
  programs_[2]->signal(SIGKILL);
  EXPECT_EQ(programs_[0]->wait(), 2);
  EXPECT_EQ(programs_[1]->wait(), 0);
  EXPECT_TRUE(all_gone({pids.begin(), pids.end() - 1}, 3000));
  std::vector<Record> first = records();
  ASSERT_FALSE(first.empty());
  EXPECT_LT(first.size(), kLongCells);
  EXPECT_EQ(first.back().measurement.outcome, Outcome::kError);
  EXPECT_EQ(first.back().measurement.cause, "rank.dead");
  EXPECT_THAT(programs_[0]->out() + programs_[0]->err(), HasSubstr("--resume"));

  programs_.clear();
  start_all(3, run_arguments({"--resume"}));
  wait_all();
  const std::vector<Record> all = records();
  const auto passed = std::count_if(all.begin(), all.end(), [](const Record& record) {
    return record.measurement.outcome == Outcome::kPassed;
  });
  EXPECT_EQ(static_cast<size_t>(passed), kLongCells) << everything();
}

TEST_F(LaunchedWorld, InterruptEndsAllInOrder) {
  scenario(kLong);
  start_all(3, run_arguments());
  ASSERT_TRUE(wait_for_records(2)) << everything();
  const std::vector<pid_t> pids = all_pids();
  for (const auto& program : programs_) program->signal(SIGINT);  // as a terminal does
  EXPECT_EQ(wait_all(), (std::vector<int>{130, 0, 0})) << everything();
  EXPECT_TRUE(all_gone(pids, 3000));
  for (const Record& record : records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed);
  }
}

TEST_F(LaunchedWorld, InterruptWhileWaitingForOthers) {
  scenario(kScenario);
  Program& rank = start(0, 2, run_arguments());
  usleep(500'000);
  rank.signal(SIGINT);
  EXPECT_EQ(rank.wait(10'000), 130);
}

TEST_F(LaunchedWorld, WhenTheCoordinatorIsKilledNothingStays) {
  scenario(kLong);
  start_all(3, run_arguments());
  ASSERT_TRUE(wait_for_records(2)) << everything();
  std::vector<pid_t> pids = all_pids();
  programs_[0]->signal(SIGKILL);
  EXPECT_EQ(programs_[1]->wait(30'000), 2);
  EXPECT_EQ(programs_[2]->wait(30'000), 2);
  EXPECT_THAT(programs_[1]->err(), HasSubstr("the coordinator (rank 0) has gone"));
  EXPECT_TRUE(all_gone({pids.begin() + 1, pids.end()}, 3000));
  EXPECT_FALSE(records().empty());
}

TEST_F(LaunchedWorld, ExcludeNeedsAHostThatIsThere) {
  scenario(kScenario, "1");
  for (const int rank : {0, 1}) start(rank, 2, run_arguments({"--exclude", "nobody"}));
  EXPECT_EQ(wait_all().front(), 1);
  EXPECT_THAT(programs_[0]->err(), HasSubstr("--exclude nobody: no such host"));
  EXPECT_EQ(programs_[1]->err(), "");
}

TEST(ExcludeHosts, LeavesAHostOfTheScenarioOut) {
  const ScratchFolder folder;
  folder.write(
      "scenario.json",
      R"({"plumbline": 1, "question": "?", "hosts": {"local": 3}, "probes": [], "roofs": false,
    "launch": {"port_base": "auto"}, "report": ["console"],
    "matrix": [{"kind": "check", "op": "allreduce", "bytes": 8}]})");
  const Finished done =
      run_program(plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("out"),
                                  "--exclude", "local1", "--dry-run"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, ContainsRegex("allreduce +8 B +2 +1 "));  // two ranks, one cell
}

}  // namespace
}  // namespace plumbline
