// The transport of the table that was asked for is the one that runs and stands in the records, or
// nothing starts.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "core/fd.h"
#include "core/record/record.h"
#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/program.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;

constexpr const char* kFlag = "--ranks-in-process";

// "memory passed" of each record, roofs too.
Words ran_over(const std::vector<Record>& records) {
  Words all;
  for (const Record& record : records) {
    all.push_back(record.measurement.resolved.transport + " " +
                  to_string(record.measurement.outcome));
  }
  return all;
}

class RanksInProcess : public testing::Test {
 protected:
  Finished plumbline(const Words& arguments, const Words& environment = {}) const {
    return run_program(plumbline_argv(arguments), environment);
  }
  // A scenario of these cells on three ranks of this machine.
  std::string scenario(const std::string& block, const std::string& more = "") const {
    return folder_.write("s.json", R"({"plumbline": 1, "hosts": {"local": 3}, "probes": [],
      "report": ["console"], "launch": {"port_base": "auto"}, )" +
                                       more + R"( "matrix": [{"ranks": 3,
      "stop": {"max_time": "50ms"}, )" +
                                       block + "}]}");
  }
  Finished run(const std::string& file, Words more = {}) const {
    more.insert(more.begin(), {"run", file, "--out", out_, "--no-history", "--quiet"});
    return plumbline(more);
  }
  std::vector<Record> records() const { return read(out_ + "/records.jsonl"); }
  // What `coll` has written there; the file goes.
  std::vector<Record> taken(const std::string& file) const {
    const std::vector<Record> all = read(file);
    std::filesystem::remove(file);
    return all;
  }

  ScratchFolder folder_;
  const std::string out_ = folder_.path("out"), file_ = folder_.path("coll.jsonl");

 private:
  static std::vector<Record> read(const std::string& path) {
    const auto all = read_records(path);
    EXPECT_TRUE(all) << (all ? "" : all.error().message());
    return all ? *all : std::vector<Record>();
  }
};

TEST_F(RanksInProcess, EveryTransportOfTheTableIsAskedForRunAndSeenInTheRecord) {
  for (const TransportRow& row : transport_table()) {
    // Of no other row these say anything.
    const Finished done = plumbline({"coll",
                                     "allreduce",
                                     "-b",
                                     "1000",
                                     "-e",
                                     "64K",
                                     "-f",
                                     "64",
                                     "-n",
                                     "5",
                                     "--ranks",
                                     "3",
                                     "-J",
                                     file_,
                                     "--transport",
                                     row.name,
                                     "--port-base",
                                     "auto",
                                     kFlag,
                                     "--rdma-library",
                                     test::fake_verbs_library(),
                                     "--rdma-device",
                                     "rdma_en1"});
    ASSERT_EQ(done.status, 0) << row.name << done.err;
    const std::vector<Record> records = taken(file_);
    EXPECT_EQ(records.size(), 4u) << row.name;
    for (const Record& record : records) {
      EXPECT_EQ(record.cell.transport, row.name);
      EXPECT_EQ(record.measurement.resolved.transport, row.name);
      EXPECT_EQ(record.measurement.wrong, 0u);
      EXPECT_EQ(record.measurement.per_rank.size(), 3u);
    }
  }
}

TEST_F(RanksInProcess, EveryOperationIsRightOverMemory) {
  for (const std::string transport : {"memory", "shm"}) {
    for (const char* op : {"allreduce", "allgather", "reduce_scatter", "broadcast", "alltoall",
                           "barrier", "pingpong", "bidirectional", "stream"}) {
      const Finished done =
          plumbline({"coll", op, "-b", "100K", "-e", "100K", "-n", "3", "--ranks", "2", "-J", file_,
                     "--transport", transport, "--port-base", "auto", kFlag});
      ASSERT_EQ(done.status, 0) << op << done.err;
      EXPECT_THAT(ran_over(taken(file_)), Each(transport + " passed")) << op;
    }
  }
}

TEST_F(RanksInProcess, ARunMeasuresEachCellOverTheTransportThatItNames) {
  const std::string file =
      scenario(R"("op": ["allreduce", "barrier"], "bytes": "4Ki", "transport": ["memory", "tcp"])");
  const Finished done = run(file, {kFlag});
  ASSERT_EQ(done.status, 0) << done.err;
  size_t memory = 0;
  for (const Record& record : records()) {
    EXPECT_EQ(record.measurement.resolved.transport, record.cell.transport)
        << to_string(record.cell.kind);
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed)
        << to_string(record.cell.kind) << " " << record.cell.op << record.measurement.reason;
    memory += record.cell.transport == "memory" ? 1 : 0;
  }
  EXPECT_GE(memory, 2u);
}

TEST_F(RanksInProcess, MemoryIsRefusedWithoutTheFlagWhichIsNamedBeforeAnythingStarts) {
  const std::string block = scenario(R"("op": "barrier", "transport": ["memory"])");
  const std::string plain = folder_.write(
      "n.json", R"({"plumbline": 1, "hosts": {"local": 2}, "matrix": [{"op": "barrier"}]})");
  const std::vector<std::pair<Words, Words>> calls = {
      {{"run", block, "--out", out_}, {}},
      {{"run", plain, "--out", out_, "--transport", "memory"}, {}},
      {{"run", plain, "--out", out_}, {"PLUMBLINE_TRANSPORT=memory"}},
      {{"coll", "allreduce", "--transport", "memory"}, {}},
      {{"coll", "allreduce"}, {"MCCL_TRANSPORT=memory"}}};
  for (const auto& [arguments, environment] : calls) {
    const Finished done = plumbline(arguments, environment);
    EXPECT_EQ(done.status, 1) << arguments[0];
    EXPECT_THAT(done.err, HasSubstr(kFlag)) << arguments[0];
    EXPECT_THAT(done.out, IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

TEST_F(RanksInProcess, HostsAndLaunchersThatAreElsewhereAreRefusedByName) {
  const std::pair<const char*, const char*> hosts[] = {
      {R"({"name": "far", "ssh": "far", "data": "10.0.0.1/24"})", "behind ssh"},
      {R"({"name": "far", "netns": "far", "data": "10.0.0.1/24"})", "network namespace far"},
      {R"({"name": "far", "local": true, "data": "127.0.0.1/8", "binary": "/bin/p"})", "/bin/p"}};
  for (const auto& [host, reason] : hosts) {
    const std::string file = folder_.write(
        "hosts.json",
        std::string(R"({"hosts": [{"name": "here", "local": true, "data": "127.0.0.1/8"}, )") +
            host + "]}");
    const Finished coll = plumbline({"coll", "barrier", "--hosts", file, kFlag});
    EXPECT_EQ(coll.status, 1) << host;
    EXPECT_THAT(coll.err, AllOf(HasSubstr(kFlag), HasSubstr("far"), HasSubstr(reason)));
    const Finished done = run(scenario(R"("op": "barrier")"), {"--hosts", file, kFlag});
    EXPECT_EQ(done.status, 1) << host;
    EXPECT_THAT(done.err, AllOf(HasSubstr(kFlag), HasSubstr("far"), HasSubstr(reason)));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  const Words mpirun = {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
                        "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                        "PMIX_NAMESPACE=x"};
  for (const Words& call :
       {Words{"coll", "barrier", kFlag}, Words{"run", scenario(R"("op": "barrier")"), kFlag}}) {
    const Finished launched = plumbline(call, mpirun);
    EXPECT_EQ(launched.status, 1) << launched.out;
    EXPECT_THAT(launched.err, AllOf(HasSubstr(kFlag), HasSubstr("mpirun")));
  }
}

TEST_F(RanksInProcess, AnUnknownTransportIsRefusedWithThoseOfTheTable) {
  const Finished done = plumbline({"coll", "allreduce", "--transport", "memroy", kFlag});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("auto, tcp, shm, rdma, memory"));
  const Finished block = run(scenario(R"("op": "barrier", "transport": "memroy")"), {kFlag});
  EXPECT_EQ(block.status, 1);
  EXPECT_THAT(block.err, HasSubstr("did you mean 'memory'?"));
}

// They were started, and each cell was an error.
TEST_F(RanksInProcess, LinksOverMemoryAreRefusedBeforeAnythingStarts) {
  const std::string head = R"({"plumbline": 1, "hosts": {"local": 3}, "probes": [], )",
                    block = R"("matrix": [{"ranks": 3, "kind": "link", "op": "link")";
  const std::map<std::string, Words> ways = {
      {head + block + R"(, "transport": ["memory"]}]})", {}},
      {head + R"("config": {"transport": "memory"}, )" + block + "}]}", {}},
      {head + block + "}]}", {"--transport", "memory"}}};
  for (const auto& [text, words] : ways) {
    SCOPED_TRACE(text);
    Words more = words;
    more.push_back(kFlag);
    const Finished done = run(folder_.write("links.json", text), more);
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr("transport 'memory' of a link block: links are measured"));
    EXPECT_FALSE(std::filesystem::exists(out_ + "/records.jsonl"));
  }
}

// Nobody listens there, so nobody minds that somebody else does.
TEST_F(RanksInProcess, MemoryTakesNoPorts) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(fd.get(), 1), 0);
  ASSERT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Words busy = {"--port-base", port, kFlag};
  Words coll = {"coll", "barrier", "-n", "3", "--transport", "memory"};
  coll.insert(coll.end(), busy.begin(), busy.end());
  EXPECT_EQ(plumbline(coll).status, 0);
  const Finished tcp = plumbline({"coll", "barrier", "-n", "3", "--port-base", port, kFlag});
  EXPECT_EQ(tcp.status, 1);
  EXPECT_THAT(tcp.err, HasSubstr(port));
  const std::string file = scenario(R"("op": "barrier", "transport": "memory")");
  const Finished done = run(file, busy);
  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_F(RanksInProcess, ABrokenStreamIsAnErrorAndTheNextCellIsMeasured) {
  const std::string file = scenario(R"("op": "allreduce", "bytes": "64Ki", "transport": "memory",
      "config": {"fault": "close:rank=1,peer=0,after=100000"}},
      {"ranks": 3, "op": "barrier", "transport": "memory", "stop": {"max_time": "50ms"})",
                                    R"("roofs": false,)");
  const Finished done = run(file, {kFlag});
  EXPECT_EQ(done.status, 2) << done.err;
  EXPECT_THAT(ran_over(records()), AllOf(Contains(" error"), Contains("memory passed")));
}

TEST_F(RanksInProcess, WrongDataOverMemoryAreFound) {
  const Finished done =
      plumbline({"coll", "allreduce", "-b", "64K", "-e", "64K", "-n", "2", "-c", "1", "--transport",
                 "memory", "--fault", "flip:rank=1,peer=0,after=5000", kFlag});
  EXPECT_EQ(done.status, 3) << done.out << done.err;
}

TEST_F(RanksInProcess, RanksAreThreadsOfOneProcessWhichEndsWithItsCoordinator) {
  const std::string file =
      scenario(R"("op": "allreduce", "bytes": "64Ki", "transport": "memory", "repeat": 20)");
  Program program(plumbline_argv({"run", file, "--out", out_, "--no-history", kFlag}));
  ASSERT_TRUE(program.wait_for_children(1)) << program.err();
  const std::vector<pid_t> ranks = program.children();
  EXPECT_EQ(ranks.size(), 1u);
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_TRUE(all_gone(ranks, 20'000));
}

TEST_F(RanksInProcess, TheEndOfTheirProcessIsAnErrorAndTheNextCellIsMeasured) {
  const std::string file =
      scenario(R"("op": "allreduce", "bytes": "64Ki", "transport": "memory", "repeat": 6)");
  Program program(plumbline_argv({"run", file, "--out", out_, "--no-history", kFlag}));
  ASSERT_TRUE(program.wait_for_children(1)) << program.err();
  const std::vector<pid_t> ranks = program.children();
  ASSERT_EQ(ranks.size(), 1u);
  ASSERT_EQ(::kill(ranks.front(), SIGKILL), 0);
  EXPECT_NE(program.wait(), 128 + SIGKILL);
  EXPECT_THAT(ran_over(records()), Contains("memory passed")) << program.err();
}

}  // namespace
}  // namespace plumbline
