// How `plumbline coll` prints: nccl-tests' columns for programs, ours too for people, and the
// letters of nccl-tests that mean nothing here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "core/clock.h"
#include "core/op.h"
#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finished coll(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "coll");
  arguments.insert(arguments.end(), {"--port-base", "auto"});
  return run_program(plumbline_argv(arguments));
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

bool is_number(const std::string& word) {
  std::istringstream in(word);
  double value = 0;
  return in >> value && in.peek() == EOF;
}

// What the program prints on a terminal, as far as it comes within `timeout_ms`.
std::string on_terminal(const std::vector<std::string>& argv, int timeout_ms) {
  int fd = -1;
  const pid_t pid = forkpty(&fd, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  std::string text;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  while (!deadline.passed()) {
    pollfd item{fd, POLLIN, 0};
    if (poll(&item, 1, 100) <= 0) continue;
    char buffer[4096];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) break;  // nobody holds the other end any more
    text.append(buffer, static_cast<size_t>(n));
  }
  if (waitpid(pid, nullptr, WNOHANG) == 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  close(fd);
  return text;
}

const std::vector<std::string> kSmallSizes = {"-b", "4K", "-e", "4K", "-n", "3", "-w", "1"};

std::vector<std::string> small(const std::string& op, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {op};
  words.insert(words.end(), kSmallSizes.begin(), kSmallSizes.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(CollFormat, ProgramsGetTheColumnsOfNcclTestsAndNoOthers) {
  for (const char* op : {"allreduce", "reduce_scatter", "broadcast"}) {
    const Finished done = coll(small(op));
    ASSERT_EQ(done.status, 0) << done.err;
    const auto table = rows(done.out);
    ASSERT_EQ(table.size(), 1U) << done.out;
    EXPECT_EQ(table[0].size(), 13U) << done.out;
    EXPECT_THAT(done.out, Not(HasSubstr("p99")));
    EXPECT_THAT(done.out, HasSubstr("#wrong     time   algbw   busbw #wrong\n"));
  }
}

// Lines of a table for people, between its headings and the empty line below it.
std::vector<std::string> table_rows(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  bool rows = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(us)") != std::string::npos) {
      rows = true;
    } else if (rows && line.empty()) {
      break;
    } else if (rows) {
      all.push_back(line);
    }
  }
  return all;
}

TEST(CollFormat, TheTableWithOurColumnsIsThereWhenAskedFor) {
  const Finished done = coll(small("allreduce", {"--format", "table", "-n", "10"}));
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(table_rows(done.out).size(), 1U) << done.out;
  EXPECT_THAT(done.out, HasSubstr("95% CI"));
  EXPECT_THAT(done.out, HasSubstr("in place"));
}

// nccl-tests has no column for it, and programs count its columns.
TEST(CollFormat, ListsOfArraysAreToldBeforeTheirRowsOrInAColumn) {
  const std::vector<std::string> lists = {"--arrays", "3,1,64", "-N", "2"};
  const Finished nccl = coll(small("allreduce", lists));
  ASSERT_EQ(nccl.status, 0) << nccl.err;
  std::string order;
  std::istringstream lines(nccl.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# arrays")) order += line + "\n";
    if (line.find(" float ") != std::string::npos) order += "row\n";
  }
  const std::string rest = "row\n# arrays 1\nrow\n# arrays 64\nrow\n";
  EXPECT_EQ(order, "# arrays 3\n" + rest + "# arrays 3\n" + rest);
  for (const auto& row : rows(nccl.out)) {
    ASSERT_EQ(row.size(), 13U) << nccl.out;
    EXPECT_EQ(row[8] + row[12], "00") << nccl.out;
  }
  EXPECT_THAT(coll(small("allreduce")).out, Not(HasSubstr("arrays")));
  std::vector<std::string> people = small("allreduce", lists);
  people.insert(people.end(), {"--format", "table"});
  EXPECT_THAT(coll(people).out, HasSubstr(" arrays "));
  EXPECT_THAT(coll(small("allreduce", {"--format", "table"})).out, Not(HasSubstr("arrays")));
  const Finished one = coll(small("allreduce", {"--format", "table", "--arrays", "5"}));
  EXPECT_THAT(one.out, HasSubstr("sum, lists of 5 arrays, 2 ranks"));
  EXPECT_THAT(one.out, Not(HasSubstr(" arrays ")));
}

TEST(CollFormat, GroupsAreToldWithEachRanksColour) {
  const std::vector<std::string> groups = {"--ranks", "4", "--split", "mod:2"};
  const Finished nccl = coll(small("allreduce", groups));
  ASSERT_EQ(nccl.status, 0) << nccl.err;
  EXPECT_THAT(nccl.out, HasSubstr(" split mod:2\n"));
  EXPECT_THAT(nccl.out, HasSubstr("#  Rank  0 Group  0 "));
  EXPECT_THAT(nccl.out, HasSubstr("#  Rank  1 Group  1 "));
  EXPECT_THAT(nccl.out, HasSubstr("#  Rank  2 Group  0 "));
  const auto row = rows(nccl.out).at(0);
  EXPECT_EQ(row[6], row[7]) << "of two ranks, busbw is algbw";
  std::vector<std::string> people = small("allreduce", groups);
  people.insert(people.end(), {"--format", "table"});
  EXPECT_THAT(coll(people).out, HasSubstr(", groups mod:2\n"));
  for (const char* wrong : {"mod", "mod:0", "div:4", "mod:4", "half"}) {
    const Finished refused = coll(small("allreduce", {"--ranks", "4", "--split", wrong}));
    EXPECT_EQ(refused.status, 1) << wrong;
    EXPECT_THAT(refused.err, HasSubstr("--split: "));
    EXPECT_EQ(refused.out, "") << wrong;
  }
}

TEST(CollFormat, WrongNumbersOfArraysAreRefused) {
  for (const char* wrong : {"0", "-1", "65537", "1,", ",1", "1,,2", "1.5", "many", "", "2,3,2",
                            "99999999999999999999"}) {
    const Finished done = coll(small("allreduce", {"--arrays", wrong}));
    EXPECT_EQ(done.status, 1) << wrong << done.out;
    EXPECT_THAT(done.err, HasSubstr("--arrays '" + std::string(wrong) + "'"));
    EXPECT_EQ(done.out, "") << wrong;
  }
}

TEST(CollFormat, OnATerminalItIsTheTableUnlessNcclIsAskedFor) {
  std::vector<std::string> words = small("allreduce", {"--port-base", "auto"});
  words.insert(words.begin(), "coll");
  EXPECT_THAT(on_terminal(plumbline_argv(words), 60'000), HasSubstr("in place"));
  words.insert(words.end(), {"--format", "nccl"});
  const std::string plain = on_terminal(plumbline_argv(words), 60'000);
  EXPECT_THAT(plain, HasSubstr("# Out of bounds values"));
  EXPECT_THAT(plain, HasSubstr("in-place"));
  EXPECT_THAT(plain, Not(HasSubstr("p50")));
}

// At 80 columns each row took three lines of the terminal.
TEST(CollFormat, TheTableFitsTheTerminal) {
  for (const char* width : {"60", "80", "120"}) {
    const Finished done =
        run_program(plumbline_argv({"coll", "allreduce", "-b", "8", "-e", "64K", "-f", "64",
                                    "--format", "table", "--port-base", "auto"}),
                    {std::string("COLUMNS=") + width});
    ASSERT_EQ(done.status, 0) << done.err;
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), std::stoul(width)) << line;
    }
    EXPECT_EQ(table_rows(done.out).size(), 3U) << done.out;
    EXPECT_EQ(done.out.find("95% CI") != std::string::npos, std::string(width) == "120");
    EXPECT_THAT(done.out, HasSubstr("allreduce float sum, 2 ranks"));
    EXPECT_THAT(done.out, HasSubstr("ranks 0-1 on local0"));
    EXPECT_THAT(done.out, HasSubstr("No wrong data; verified"));
  }
}

// src/alltoall.cu and src/sendrecv.cu of NVIDIA/nccl-tests: "We don't support in-place", times and
// rates are printed all the same, #wrong is N/A. A reader that wants numbers lost these rows.
TEST(CollFormat, OperationsWithoutAnInPlaceFormFillTheColumnsUnchecked) {
  for (const OpRow& op : op_table()) {
    if (op.has_in_place) continue;
    const Finished done = coll(small(op.name));
    ASSERT_EQ(done.status, 0) << op.name << done.err;
    const auto table = rows(done.out);
    ASSERT_EQ(table.size(), 1U) << op.name << done.out;
    ASSERT_EQ(table[0].size(), 13U) << op.name << done.out;
    for (const size_t i : {5U, 6U, 7U, 9U, 10U, 11U}) {
      EXPECT_TRUE(is_number(table[0][i])) << op.name << " " << i << done.out;
    }
    EXPECT_EQ(table[0][8], "0") << op.name;
    EXPECT_EQ(table[0][12], "N/A") << op.name;
    EXPECT_THAT(done.out, HasSubstr(std::string("# ") + op.name + " has no in-place form"));
  }
  // The table for people has no columns for what there is not.
  const std::string table = coll(small("alltoall", {"--format", "table"})).out;
  EXPECT_EQ(table_rows(table).size(), 1U) << table;
  EXPECT_THAT(table, Not(HasSubstr("in place")));
}

TEST(CollFormat, TheRecordsDoNotDependOnTheFormat) {
  const ScratchFolder folder;
  for (const char* format : {"nccl", "table"}) {
    const std::string file = folder.path(std::string(format) + ".jsonl");
    ASSERT_EQ(coll(small("alltoall", {"--format", format, "-J", file})).status, 0);
    const std::string text = read_file(file);
    size_t placements = 0;
    for (size_t at = 0; (at = text.find("\"placement\"", at)) != std::string::npos; ++at) {
      ++placements;
    }
    EXPECT_EQ(placements, 1U) << format << text;
  }
}

TEST(CollFormat, OurOwnImporterReadsWhatIsPrinted) {
  const ScratchFolder folder;
  const Finished done = coll(small("allreduce", {"--ranks", "3", "--algorithm", "ring"}));
  ASSERT_EQ(done.status, 0) << done.err;
  const Finished read =
      run_program(plumbline_argv({"report", "records", folder.write("coll.txt", done.out)}));
  ASSERT_EQ(read.status, 0) << read.err;
  const auto all = read_records(folder.write("records.jsonl", read.out));
  ASSERT_TRUE(all) << read.out;
  const std::vector<Record>& records = *all;
  ASSERT_EQ(records.size(), 2U) << read.out;
  EXPECT_EQ(records[0].cell.op, "allreduce");
  EXPECT_EQ(records[0].cell.ranks, 3);
  EXPECT_EQ(records[0].cell.bytes, 4096U);
  EXPECT_EQ(records[0].cell.algorithm, "ring");
  EXPECT_EQ(records[0].cell.transport, "shm");
  EXPECT_EQ(records[1].cell.placement, "in");
  EXPECT_EQ(records[0].measurement.wrong, 0U);
  ASSERT_TRUE(records[0].measurement.reported);
  EXPECT_EQ(records[0].measurement.reported->version, "as written by plumbline " PLUMBLINE_VERSION);
}

TEST(CollFormat, FooterOfASweepThatChecksNothingIsNotOk) {
  const Finished unchecked = coll(small("allreduce", {"-c", "0"}));
  ASSERT_EQ(unchecked.status, 0) << unchecked.err;
  EXPECT_THAT(unchecked.out, HasSubstr("# Out of bounds values : N/A (not checked)\n"));
  const Finished barrier = coll({"barrier", "-b", "0", "-e", "0", "-n", "3"});
  ASSERT_EQ(barrier.status, 0) << barrier.err;
  EXPECT_THAT(barrier.out, HasSubstr("# Avg bus bandwidth    : N/A \n"));
}

// NVIDIA/cloudai, nccl.py and slurm_command_gen_strategy.py; microsoft/superbenchmark,
// cuda_nccl_bw_performance.py: the letters that these give by default.
TEST(CollFormat, TheCommandLinesOfCloudAiAndSuperBenchRun) {
  const Finished cloudai =
      coll({"allreduce", "--nthreads",      "1",     "--ngpus",     "1",  "--minbytes",
            "1M",        "--maxbytes",      "1M",    "--stepbytes", "1M", "--op",
            "sum",       "--datatype",      "float", "--root",      "0",  "--iters",
            "20",        "--warmup_iters",  "5",     "--agg_iters", "1",  "--average",
            "1",         "--parallel_init", "0",     "--check",     "1",  "--blocking",
            "0",         "--cudagraph",     "0"});
  EXPECT_EQ(cloudai.status, 0) << cloudai.err;
  EXPECT_EQ(rows(cloudai.out).size(), 1U) << cloudai.out;
  const Finished superbench = coll({"allreduce", "-b", "8", "-e", "4K", "-f", "2", "-g", "1", "-c",
                                    "0", "-n", "20", "-w", "5", "-G", "0", "-d", "float"});
  EXPECT_EQ(superbench.status, 0) << superbench.err;
  EXPECT_EQ(rows(superbench.out).size(), 10U) << superbench.out;
}

TEST(CollFormat, LettersThatAreOffAreTaken) {
  const Finished done = coll(small(
      "allreduce", {"-G", "0", "-R", "0",  "-C", "0", "-I", "0", "-S", "0", "-y", "0", "-x", "0",
                    "-D", "0", "-V", "16", "-M", "0", "-u", "0", "-K", "5", "-T", "0", "-f", "1"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("# -T 0: no operation waits forever here"));
  EXPECT_EQ(rows(done.out).size(), 1U) << done.out;
}

TEST(CollFormat, LettersThatAreOnAreRefusedByNameWithTheReason) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"-G", "1"}, "-G 1: there are no CUDA graphs here"},
      {{"-y", "1"}, "-y 1: there are no CUDA streams here"},
      {{"-R", "2"}, "-R 2: no memory is registered"},
      {{"-x", "1"}, "-x 1: there are no thread blocks"},
      {{"-D", "1"}, "-D 1: nothing runs on a GPU"},
      {{"-M", "1"}, "-M 1: there is no GPU memory"},
      {{"-u", "1"}, "-u 1: buffers are always aligned"},
      {{"-C", "1"}, "-C 1: the column `time`"},
      {{"-S", "1"}, "-S 1: the table has no column"},
      {{"-I", "1"}, "-I 1: the table has no columns"},
      {{"--cudagraph", "-1"}, "-G '-1' is not a whole number"},
      {{"-R", "x"}, "-R 'x' is not a whole number"},
      {{"--format", "csv"}, "--format 'csv' is unknown"},
      {{"--format", "nccl", "--json"}, "--format and --json are both given"},
  };
  for (const auto& [words, expected] : cases) {
    const Finished done = coll(small("allreduce", words));
    EXPECT_EQ(done.status, 1) << expected;
    EXPECT_EQ(done.out, "") << expected;
    EXPECT_THAT(done.err, HasSubstr(expected));
  }
}

}  // namespace
}  // namespace plumbline
