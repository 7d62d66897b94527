// `plumbline coll` with real processes over real sockets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "collectives/engine.h"
#include "core/json.h"
#include "core/op.h"
#include "core/record/record.h"
#include "launch/affinity.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

Finished coll(std::vector<std::string> arguments,
              const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), "coll");
  arguments.insert(arguments.end(), {"--port-base", "auto"});
  return run_program(plumbline_argv(arguments), environment);
}

std::vector<std::vector<std::string>> rows(const std::string& table) {
  std::vector<std::vector<std::string>> all;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    all.emplace_back();
    for (std::string word; words >> word;) all.back().push_back(word);
  }
  return all;
}

// What --json printed.
std::vector<Record> printed_records(const std::string& lines) {
  const ScratchFolder folder;
  std::vector<std::string> warnings;
  const auto records = read_records(folder.write("records.jsonl", lines), &warnings);
  EXPECT_TRUE(records) << records.error().message();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  return records.value_or(std::vector<Record>());
}

TEST(Coll, PrintsNcclTestsTableWithNothingWrong) {
  const Finished done = coll({"allreduce", "-b", "8", "-e", "1M", "-f", "8", "-n", "5", "-w", "1",
                              "-d", "float", "-o", "sum", "-c", "1", "--ranks", "4"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto table = rows(done.out);
  ASSERT_EQ(table.size(), 6u) << done.out;
  for (const auto& row : table) {
    ASSERT_GE(row.size(), 13u);
    EXPECT_EQ(row[2], "float");
    EXPECT_EQ(row[3], "sum");
    EXPECT_GT(std::stod(row[5]), 0) << "time";
    EXPECT_EQ(row[8], "0") << "wrong, out of place";
    EXPECT_EQ(row[12], "0") << "wrong, in place";
  }
  EXPECT_NE(done.out.find("# Out of bounds values : 0 OK"), std::string::npos);
  EXPECT_NE(done.out.find("# Avg bus bandwidth    : "), std::string::npos);
}

TEST(Coll, EveryOperationOnOneToThreeRanks) {
  for (const OpRow& op : op_table()) {
    for (int ranks = op.min_ranks; ranks <= 3; ++ranks) {
      const Finished done =
          coll({op.name, "-b", "1000", "-e", "1000", "-n", "2", "--ranks", std::to_string(ranks)});
      EXPECT_EQ(done.status, 0) << op.name << " " << ranks << "\n" << done.err;
      const auto table = rows(done.out);
      ASSERT_EQ(table.size(), 1u) << op.name << done.out;
      EXPECT_EQ(table[0][8], "0") << op.name << " " << ranks;
    }
  }
}

TEST(Coll, JsonLinesAreRecords) {
  const Finished done = coll({"allgather", "-b", "4K", "-e", "8K", "-f", "2", "-n", "3", "--json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with("{\"environment\":{")) << done.out;
  const std::vector<Record> records = printed_records(done.out);
  EXPECT_EQ(records.size(), 4u);
  for (const Record& record : records) {
    EXPECT_EQ(record.measurement.per_rank.size(), 2u);
    EXPECT_EQ(record.measurement.wrong, 0u);
    EXPECT_EQ(record.cell.transport, "auto");
    EXPECT_EQ(record.measurement.resolved.transport, "shm");
    EXPECT_TRUE(record.measurement.resolved.fell_back.empty());
    EXPECT_EQ(record.measurement.resolved.address_pairs.size(), 1u);
    EXPECT_EQ(record.environment.control, "pipes");
  }
}

// What was asked for is not what the heading says, where that was left open.
TEST(Coll, TheHeadingSaysWhatCarriesTheData) {
  const Finished near = coll({"broadcast", "-b", "8", "-e", "8", "-n", "2"});
  EXPECT_NE(near.out.find("transport shm"), std::string::npos) << near.out;
  const Finished named = coll({"broadcast", "-b", "8", "-e", "8", "-n", "2", "--transport", "tcp"});
  EXPECT_NE(named.out.find("transport tcp"), std::string::npos) << named.out;
}

TEST(Coll, StreamsAreToldWithWhatTheSystemGrantedThem) {
  for (const int streams : {1, 3}) {
    const Finished done =
        coll({"allreduce", "-b", "300K", "-e", "300K", "-n", "3", "--ranks", "3", "--transport",
              "tcp", "--streams", std::to_string(streams), "--progress-thread", "off", "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    for (const Record& record : printed_records(done.out)) {
      EXPECT_EQ(record.measurement.wrong, 0u);
      const Resolved& resolved = record.measurement.resolved;
      EXPECT_EQ(resolved.streams, streams);
      EXPECT_EQ(resolved.address_pairs.size(), 3u * static_cast<size_t>(streams));
      ASSERT_EQ(resolved.connections.size(), 1u);  // alike on loopback
      const ConnectionSettings& granted = resolved.connections.front();
      EXPECT_EQ(granted.ends, 6u * static_cast<uint64_t>(streams));
      EXPECT_EQ(granted.congestion_control, resolved.congestion_control);
      EXPECT_GT(granted.mss, 500u);
      EXPECT_GT(granted.send_buffer, 0u);
      EXPECT_GT(granted.recv_buffer, 0u);
    }
  }
}

// A second thread of each rank has a connection for each direction beside each of the others.
TEST(Coll, AProgressThreadIsTold) {
  const std::vector<std::string> words = {"allreduce", "-b",          "1M",  "-e",
                                          "1M",        "-n",          "3",   "--ranks",
                                          "2",         "--transport", "tcp", "--json"};
  for (const std::string asked : {"off", "on", "auto"}) {
    SCOPED_TRACE(asked);
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--progress-thread", asked});
    const Finished done = coll(all);
    ASSERT_EQ(done.status, 0) << done.err;
    const bool room = cores_for_second_threads(static_cast<int>(cpus_by_preference().size()), 2);
    const bool there = asked == "on" || (asked == "auto" && room);
    for (const Record& record : printed_records(done.out)) {
      const Resolved& resolved = record.measurement.resolved;
      EXPECT_EQ(record.measurement.wrong, 0u);
      EXPECT_EQ(resolved.progress_thread, there);
      EXPECT_EQ(resolved.streams, there ? 3 : 1);
    }
  }
}

TEST(Coll, SeveralStreamsAreForTransportsThatMakeThem) {
  for (const char* transport : {"shm", "memory"}) {
    const Finished done =
        coll({"allreduce", "--transport", transport, "--ranks-in-process", "--streams", "2"});
    EXPECT_EQ(done.status, 1);
    EXPECT_NE(done.err.find("streams = 2"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("use transport tcp"), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

TEST(Coll, WindowTimingStatesItsErrorInTheTableAndTheRecords) {
  const std::vector<std::string> sweep = {"allreduce", "-b", "4K", "-e",     "4K",    "-n",
                                          "10",        "-w", "3",  "--sync", "window"};
  const Finished table = coll(sweep);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("# Clock error at most"), std::string::npos) << table.out;
  EXPECT_EQ(rows(table.out).size(), 1u) << table.out;

  std::vector<std::string> json = sweep;
  json.emplace_back("--json");
  const Finished lines = coll(json);
  ASSERT_EQ(lines.status, 0) << lines.err;
  const std::vector<Record> records = printed_records(lines.out);
  ASSERT_FALSE(records.empty());
  const Record* record = &records.front();
  EXPECT_EQ(record->cell.sync, "window");
  ASSERT_EQ(record->measurement.extra.count(kClockError), 1u);
  const double error = record->measurement.extra.at(kClockError);
  EXPECT_GT(error, 0);
  // Both ranks read one clock: the truth is 0.
  ASSERT_EQ(record->measurement.per_rank.size(), 2u);
  EXPECT_LE(std::abs(*record->measurement.per_rank[1].clock_offset_ns),
            *record->measurement.per_rank[1].clock_error_ns);

  const Finished refused = coll({"allreduce", "--sync", "widow"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("--sync 'widow' is unknown"), std::string::npos) << refused.err;
}

TEST(Coll, FlippedBitIsCountedAndExitsThree) {
  // 64 KiB over two ranks: rank 1 sends 64 KiB an operation, and the second one is the verified
  // one. Integers, because a low bit of a float may be rounded away, and then nothing is wrong.
  const Finished done = coll({"allreduce", "-b", "64K", "-e", "64K", "-n", "3", "-w", "0", "-d",
                              "int32", "--fault", "flip:rank=1,peer=0,after=100000"});
  EXPECT_EQ(done.status, 3) << done.out << done.err;
  EXPECT_NE(done.out.find("FAILED"), std::string::npos) << done.out;
}

// One end of a pair gets the fault, and both have to agree that nothing is taken from memory then.
TEST(Coll, LargeArraysComeThroughASlowStreamWhereMemoryIsShared) {
  for (const char* fault : {"short:rank=0,bytes=50000", "delay:rank=1,us=1"}) {
    const Finished done = coll({"allreduce", "-b", "1M", "-e", "1M", "-n", "3", "-w", "0",
                                "--transport", "shm", "--fault", fault});
    EXPECT_EQ(done.status, 0) << fault << done.out << done.err;
    EXPECT_NE(done.out.find("OK"), std::string::npos) << done.out;
  }
}

TEST(Coll, FlippedBitIsCaughtByTheChecksum) {
  const Finished done =
      coll({"allreduce", "-b", "64K", "-e", "64K", "-n", "3", "-w", "0", "--transport-crc", "1",
            "--fault", "flip:rank=1,peer=0,after=200000"});
  EXPECT_EQ(done.status, 3) << done.out << done.err;
  EXPECT_NE(done.err.find("checksum"), std::string::npos) << done.err;
  EXPECT_EQ(done.out.find("OK"), std::string::npos) << done.out;
}

// Back to back most operations are not verified, and the record does not claim that they were.
TEST(Coll, SaysHowManyOperationsWereVerified) {
  const std::vector<std::string> call = {"allreduce", "-b", "4K", "-e", "4K", "-n", "60", "--json"};
  for (const auto& [mode, all] :
       {std::pair("every", true), std::pair("sampled", false), std::pair("last", false)}) {
    std::vector<std::string> with = call;
    with.insert(with.end(), {"--verify", mode});
    const Finished done = coll(with);
    ASSERT_EQ(done.status, 0) << done.err;
    for (const Record& record : printed_records(done.out)) {
      const auto count = verified_count(record.measurement);
      ASSERT_TRUE(count);
      EXPECT_EQ(record.measurement.verified, all) << mode;
      EXPECT_EQ(count->verified == count->operations, all) << verified_text(record.measurement);
      EXPECT_EQ(record.environment.options.at("verify").value, mode);
      EXPECT_EQ(record.environment.options.at("verify").origin, "flag");
    }
  }
  const Finished table = coll({"allreduce", "-b", "4K", "-e", "4K", "-n", "60"});
  EXPECT_NE(table.out.find("# Verified operations  : "), std::string::npos) << table.out;
  const Finished refused = coll({"allreduce", "--verify", "some"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("every, sampled, last"), std::string::npos) << refused.err;
  const Finished variable =
      coll({"allreduce", "-b", "4K", "-e", "4K", "--json"}, {"PLUMBLINE_VERIFY=every"});
  EXPECT_NE(variable.out.find("\"verified\":true"), std::string::npos) << variable.err;
}

// Of the N operations of a sample only the last one was verified, and `every` was said.
TEST(Coll, AggregatesCannotAllBeVerifiedAndAreRefused) {
  const std::vector<std::string> call = {"allreduce", "-b", "4K", "-e", "4K", "-m", "4", "-n", "2"};
  std::vector<std::string> with = call;
  with.insert(with.end(), {"--verify", "every"});
  for (const Finished& refused : {coll(with), coll(call, {"PLUMBLINE_VERIFY=every"})}) {
    EXPECT_EQ(refused.status, 1) << refused.out;
    EXPECT_EQ(refused.out, "");
    for (const char* word : {"-m 4 and --verify every", "only the last one", "leave out -m"}) {
      EXPECT_NE(refused.err.find(word), std::string::npos) << word << ": " << refused.err;
    }
  }
  EXPECT_EQ(coll(call).status, 0);
  with.insert(with.end(), {"-c", "0"});
  EXPECT_EQ(coll(with).status, 0) << "nothing is verified";
}

// It ended in a SIGSEGV and "Out of bounds values : 0 OK".
TEST(Coll, SizesBeyondMemoryAreRefusedBeforeAnythingStarts) {
  for (const char* size : {"512G", "4000G"}) {
    const Finished done = coll({"allreduce", "-b", size, "-e", size});
    EXPECT_EQ(done.status, 1) << done.out << done.err;
    EXPECT_EQ(done.out, "");
    for (const char* word :
         {"does not fit into memory", "allreduce", "a rank needs", "available", "-e", "--ranks"}) {
      EXPECT_NE(done.err.find(word), std::string::npos) << word << ": " << done.err;
    }
  }
}

// A limit that no file tells of: the rank says so, and nothing is called right.
TEST(Coll, MemoryThatIsNotThereAfterAllIsAnErrorInWords) {
  std::string call = "ulimit -v 500000; exec";
  for (const std::string& word :
       plumbline_argv({"coll", "allreduce", "-b", "256M", "-e", "256M", "-n", "1", "-w", "0",
                       "--port-base", "auto", "--verify", "last"})) {
    call += " '" + word + "'";
  }
  const Finished done = run_program({"/bin/sh", "-c", call}, {});
  EXPECT_EQ(done.status, 2) << done.out << done.err;
  EXPECT_NE(done.err.find("got no memory for bandwidth allreduce of 256 MiB"), std::string::npos)
      << done.err;
  EXPECT_EQ(done.out.find("OK"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("nothing was measured"), std::string::npos) << done.out;
}

TEST(Coll, EnginesCanBeChosen) {
  for (const EngineRow& engine : engine_table()) {
    if (!engine.unavailable().empty()) continue;  // engines_linux_test.cc
    const Finished done =
        coll({"allreduce", "-b", "64", "-e", "64", "-n", "3", "--engine", engine.name, "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    for (const Record& record : printed_records(done.out))
      EXPECT_EQ(record.cell.engine, engine.name);
  }
  const Finished unknown = coll({"allreduce", "--engine", "natve"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("native"), std::string::npos) << unknown.err;
}

TEST(Coll, AlgorithmsCanBeChosen) {
  for (const char* algorithm : {"ring", "recursive_doubling", "gather_reduce"}) {
    const Finished done = coll({"allreduce", "-b", "4K", "-e", "4K", "-n", "2", "--algorithm",
                                algorithm, "--ranks", "3", "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_NE(done.out.find(std::string("\"algorithm\":\"") + algorithm + "\""), std::string::npos);
  }
}

// What was asked for stays the cell's; what it was taken for stands beside it.
TEST(Coll, AlgorithmsTakeAParameter) {
  struct Row {
    const char *asked, *ran;
  };
  for (const Row& row : {Row{"exchange:2x2", "exchange:2x2"}, Row{"exchange", "exchange:2x2"},
                         Row{"halving_doubling:04", "halving_doubling:4"}, Row{"ring:2", "ring:2"},
                         Row{"ring:1", "ring"}, Row{"ring:0-2-1-3", "ring:0-2-1-3"},
                         Row{"ring:2:1-3-0-02", "ring:2:0-2-1-3"}}) {
    const Finished done = coll({"allreduce", "-b", "4K", "-e", "4K", "-n", "2", "--algorithm",
                                row.asked, "--ranks", "4", "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    for (const Record& record : printed_records(done.out)) {
      EXPECT_EQ(record.cell.algorithm, row.asked);
      EXPECT_EQ(record.measurement.resolved.algorithm, row.ran);
      EXPECT_EQ(record.measurement.wrong.value_or(1), 0u) << row.asked;
    }
  }
}

TEST(Coll, AParameterThatDoesNotFitIsRefusedWithWhatWould) {
  struct Row {
    const char *algorithm, *would;
  };
  for (const Row& row :
       {Row{"exchange:2x3", "2x2 or 4"}, Row{"halving_doubling:8", "2x2 or 4"},
        Row{"exchange:two", "such as exchange:4x2"}, Row{"ring:3", "use ring:2"},
        Row{"ring:0-2-1", "needs an order of all ranks, such as 0-1-2-3, this world has 4"},
        Row{"ring:0-2-2-3", "has not every rank from 0 to 3 once"},
        Row{"ring:3:0-2-1-3", "use ring:2:0-2-1-3"}, Row{"ring:0--1-2-3", "such as ring:0-2-1-3"},
        Row{"double_tree:2", "use double_tree"}, Row{"exchanje:2x2", "use one of"}}) {
    const Finished done =
        coll({"allreduce", "-b", "8", "-e", "8", "--algorithm", row.algorithm, "--ranks", "4"});
    EXPECT_EQ(done.status, 1) << row.algorithm;
    EXPECT_EQ(done.out, "") << row.algorithm;
    EXPECT_NE(done.err.find(row.would), std::string::npos) << row.algorithm << ": " << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace plumbline
