// The engines of other libraries as a user meets them: asked for, refused, under the launchers of
// two MPIs, and with a rank that is lost in the middle. What is not built or installed is skipped.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/clock.h"
#include "core/record/record.h"
#include "tests/support/places.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

bool built(const std::string& engine) {
  const std::filesystem::path folder = std::filesystem::path(test::program_path()).parent_path();
  return std::filesystem::exists(folder / ("plumbline_engine_" + engine + ".so"));
}
bool installed(const std::string& program) {
  return std::filesystem::exists("/usr/bin/" + program);
}

#define NEEDS_ENGINE(name) \
  if (!built(name)) GTEST_SKIP() << "the module of " << (name) << " is not built"
#define NEEDS_PROGRAM(name) \
  if (!installed(name)) GTEST_SKIP() << (name) << " is not installed"

class Engines : public testing::Test {
 protected:
  // `launcher`: the words before plumbline's own.
  Finished run(const Words& arguments, Words launcher = {}) const {
    const Words own = plumbline_argv(arguments);
    launcher.insert(launcher.end(), own.begin(), own.end());
    return run_program(launcher, as_root_);
  }
  Finished coll(const std::string& op, const std::string& engine, Words more = {},
                const Words& launcher = {}) const {
    Words words = {"coll",          op,       "--engine",    engine, "-b", "64", "-e",
                   "64K",           "-f",     "64",          "-n",   "4",  "-w", "1",
                   "--output_file", records_, "--port-base", "auto"};
    if (!launcher.empty()) {  // every rank is told the same ports
      const int ports = test::free_ports(5);
      words.back() = std::to_string(ports);
      words.insert(words.end(), {"--master-port", std::to_string(ports + 4)});
    }
    words.insert(words.end(), more.begin(), more.end());
    return run(words, launcher);
  }
  // What coll has written; the file goes.
  std::vector<Record> taken() const {
    const auto read = read_records(records_);
    EXPECT_TRUE(read) << read.error().message();
    std::filesystem::remove(records_);
    return read ? *read : std::vector<Record>{};
  }
  void expect_right(const Finished& done, const std::string& engine, const std::string& library) {
    ASSERT_EQ(done.status, 0) << done.out << done.err;
    const std::vector<Record> records = taken();
    EXPECT_GE(records.size(), 1u);
    for (const Record& record : records) {
      if (record.measurement.outcome == Outcome::kSkipped) continue;
      EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << record.measurement.reason;
      EXPECT_EQ(record.measurement.wrong, 0u);
      EXPECT_EQ(record.cell.engine, engine);
      EXPECT_THAT(record.measurement.resolved.library, HasSubstr(library));
      EXPECT_NE(record.measurement.resolved.algorithm, "");
      EXPECT_NE(record.measurement.resolved.transport, "");
    }
  }
  Words mpirun(const std::string& mpi, int ranks) const {
    Words words = {"mpirun." + mpi, "-n", std::to_string(ranks)};
    if (mpi == "openmpi") words.push_back("--oversubscribe");
    return words;
  }

  const Words as_root_ = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  const ScratchFolder folder_;
  const std::string records_ = folder_.path("records.jsonl");
};

TEST_F(Engines, ListSaysWhichCanBeUsedAndWhyNot) {
  const Finished done = run({"list", "engines"});
  EXPECT_EQ(done.status, 0);
  for (const char* engine : {"native", "gloo", "openmpi", "mpich"}) {
    EXPECT_THAT(done.out, HasSubstr(engine));
  }
  EXPECT_THAT(done.out, HasSubstr(built("openmpi") ? "mpirun.openmpi -n 2 plumbline coll"
                                                   : "there is no plumbline_engine_openmpi.so"));
}

TEST_F(Engines, GlooIsRightForOperationsTypesAndRanks) {
  NEEDS_ENGINE("gloo");
  for (const char* dtype : {"float", "half", "int64", "uint8"}) {
    expect_right(coll("allreduce", "gloo", {"--ranks", "2", "-d", dtype, "-o", "max"}), "gloo",
                 "gloo");
  }
  for (const char* op : {"broadcast", "allgather", "gather", "alltoall"}) {
    expect_right(coll(op, "gloo", {"--ranks", "3", "-d", "double"}), "gloo", "gloo");
  }
  expect_right(coll("reduce", "gloo", {"--ranks", "4", "-d", "int32", "-r", "all"}), "gloo",
               "gloo");
}

TEST_F(Engines, MpichWorksWithoutMpirunAndUnderItsOwn) {
  NEEDS_ENGINE("mpich");
  for (const char* op : {"allreduce", "reduce_scatter", "scatter", "pingpong"}) {
    expect_right(coll(op, "mpich", {"--ranks", "3"}), "mpich", "MPICH");
  }
  NEEDS_PROGRAM("mpirun.mpich");
  expect_right(coll("allreduce", "mpich", {}, mpirun("mpich", 2)), "mpich", "MPICH");
}

TEST_F(Engines, OpenMpiWorksUnderItsOwnMpirun) {
  NEEDS_ENGINE("openmpi");
  NEEDS_PROGRAM("mpirun.openmpi");
  for (const char* op : {"allreduce", "reduce_scatter", "stream"}) {
    expect_right(coll(op, "openmpi", {}, mpirun("openmpi", 2)), "openmpi", "Open MPI");
  }
  expect_right(coll("allgather", "openmpi", {}, mpirun("openmpi", 3)), "openmpi", "Open MPI");
}

// Nothing starts, and the line says what works.
TEST_F(Engines, OneMpiUnderTheMpirunOfAnotherIsRefused) {
  for (const auto& [engine, other] :
       {std::pair("mpich", "openmpi"), std::pair("openmpi", "mpich")}) {
    NEEDS_ENGINE(engine);
    NEEDS_PROGRAM(std::string("mpirun.") + other);
    const Finished done = coll("allreduce", engine, {}, mpirun(other, 2));
    EXPECT_EQ(done.status, 1) << done.out << done.err;
    EXPECT_THAT(done.err,
                HasSubstr(std::string("this works: mpirun.") + engine + " -n 2 plumbline"));
    EXPECT_FALSE(std::filesystem::exists(records_));
  }
}

TEST_F(Engines, WhatCannotBeDoneIsRefusedBeforeAnythingStarts) {
  const auto refused = [&](const Finished& done) {
    EXPECT_EQ(done.status, 1) << done.out << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    return done.err;
  };
  EXPECT_THAT(refused(coll("allreduce", "glo")), HasSubstr("did you mean 'gloo'?"));
  if (built("openmpi")) {
    EXPECT_THAT(refused(coll("allreduce", "openmpi")), HasSubstr("mpirun.openmpi -n 2"));
  }
  if (built("gloo")) {
    EXPECT_THAT(refused(coll("reduce_scatter", "gloo")), HasSubstr("reduce_scatter"));
    EXPECT_THAT(refused(coll("allreduce", "gloo", {"-d", "bfloat16"})), HasSubstr("no bf16"));
    EXPECT_THAT(refused(coll("allreduce", "gloo", {"-o", "avg"})), HasSubstr("no average"));
    EXPECT_THAT(refused(coll("allreduce", "gloo", {"--transport", "shm"})),
                HasSubstr("leave the transport to auto"));
    EXPECT_THAT(refused(coll("allreduce", "gloo", {"--algorithm", "ring"})),
                HasSubstr("leave that to auto"));
  }
  if (built("mpich")) {
    EXPECT_THAT(refused(coll("allreduce", "mpich", {"-d", "half"})), HasSubstr("element type"));
    EXPECT_THAT(refused(coll("allreduce", "mpich", {"--ranks-in-process"})),
                HasSubstr("leave out --ranks-in-process"));
  }
}

// Under nccl-tests' columns those in place stay empty where the engine has no such form.
TEST_F(Engines, AFormInPlaceThatIsMissingLeavesItsColumnsEmpty) {
  NEEDS_ENGINE("mpich");
  const Finished done = coll("reduce_scatter", "mpich", {"--format", "nccl"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("# engine mpich: MPI leaves the result"), HasSubstr("N/A")));
}

TEST_F(Engines, GlooRunsWithRanksAsThreads) {
  NEEDS_ENGINE("gloo");
  expect_right(coll("allreduce", "gloo", {"--ranks-in-process", "--ranks", "3"}), "gloo", "gloo");
}

TEST_F(Engines, EnginesOfAMatrixStandBesideOneAnotherInEveryReport) {
  NEEDS_ENGINE("gloo");
  const std::string file = folder_.write("s.json", R"({"plumbline": 1, "hosts": {"local": 2},
    "probes": [], "report": ["console", "markdown", "csv", "html"], "launch": {"port_base": "auto"},
    "roofs": false, "matrix": [{"kind": "latency", "engine": ["native", "gloo"],
    "op": ["allreduce", "reduce_scatter"], "bytes": 1024, "ranks": 2, "stop": {"max_time": "50ms"}}]})");
  const std::string out = folder_.path("out");
  const Finished done = run({"run", file, "--out", out, "--no-history"});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("engine gloo"));
  EXPECT_THAT(done.out, HasSubstr("gloo binds a reduce_scatter"));
  const auto records = read_records(out + "/records.jsonl");
  ASSERT_TRUE(records);
  EXPECT_EQ(records->size(), 4u);
  for (const char* report : {"report.md", "records.csv", "report.html"}) {
    EXPECT_THAT(read_file(out + "/" + report), HasSubstr("gloo")) << report;
  }
}

// What every rank says when one is lost in the middle of operations of the engine.
class EngineLosses : public Engines {
 public:
  // UCX ends a process that reads another one's memory when that has gone: then two ranks are lost,
  // and either may be named.
  EngineLosses() { setenv("UCX_TLS", "^cma", 1); }
  ~EngineLosses() override { unsetenv("UCX_TLS"); }

 protected:
  Finished lose(const std::string& engine, int signal_number) {
    Program program(
        plumbline_argv({"coll", "allreduce", "--engine", engine, "--ranks", "3", "-b", "4M", "-e",
                        "4M", "-n", "100000", "--port-base", "auto", "--watchdog-timeout-ms",
                        "5000", "--heartbeat-interval-ms", "200"}));
    EXPECT_TRUE(program.wait_for_children(3));
    sleep(6);  // into the operations
    const std::vector<pid_t> ranks = program.children();
    if (ranks.size() != 3) return {-1, program.out(), program.err()};
    const int64_t start = monotonic_ns();
    kill(ranks[1], signal_number);
    while (program.err().find("plumbline: allreduce") == std::string::npos &&
           monotonic_ns() - start < 30 * kSecond) {
      usleep(20'000);
    }
    program.signal(SIGINT);  // the cell in place need not come to its end
    const int status = program.wait(30'000);
    EXPECT_TRUE(all_gone(ranks, 5000));
    return {status, program.out(), program.err()};
  }
};

TEST_F(EngineLosses, AKilledRankIsNamed) {
  for (const char* engine : {"gloo", "mpich"}) {
    if (!built(engine)) continue;
    const Finished done = lose(engine, SIGKILL);
    EXPECT_EQ(done.status, 130) << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr("plumbline: allreduce 4194304 bytes: rank 1 on local0"))
        << engine;
  }
}

TEST_F(EngineLosses, AStoppedRankIsNamed) {
  for (const char* engine : {"gloo", "mpich"}) {
    if (!built(engine)) continue;
    const Finished done = lose(engine, SIGSTOP);
    EXPECT_EQ(done.status, 130) << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr("plumbline: allreduce 4194304 bytes: ")) << engine;
    EXPECT_THAT(done.err, HasSubstr("rank 1 ")) << engine;
  }
}

}  // namespace
}  // namespace plumbline
