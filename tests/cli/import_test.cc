// `plumbline report` on what other tools printed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/record/record.h"
#include "reports/import/importer.h"
#include "tests/support/places.h"
#include "tests/support/program.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

std::string sample(const std::string& name) {
  return test::source_dir() + "/tests/reports/samples/" + name;
}

TEST(ReportOfOtherTools, TableFromIperf3AndOsu) {
  const Finished done = run_program(plumbline_argv(
      {"report", "console", sample("iperf3_tcp.json"), sample("osu.txt"), "--assume", "ranks=4"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("stream, 2 ranks, tcp, imported from iperf3"));
  EXPECT_THAT(done.out, HasSubstr("allreduce, 4 ranks, mpi, imported from osu"));
}

TEST(ReportOfOtherTools, SaysWhatIsMissingAndWhatItCanRead) {
  const Finished missing = run_program(plumbline_argv({"report", "csv", sample("osu.txt")}));
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("say --assume ranks=N"));
  const ScratchFolder folder;
  const Finished unknown =
      run_program(plumbline_argv({"report", "csv", folder.write("x.json", "[1, 2]")}));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("it reads: records of plumbline; iperf3 -J"));
  const Finished wrong =
      run_program(plumbline_argv({"report", "csv", sample("osu.txt"), "--assume", "rank=4"}));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("KEY=VALUE with one of: ranks, unit, op"));
}

// What tells records from other tools' output would have read a part of the pipe, which is then
// gone.
TEST(ReportOfOtherTools, RecordsFromAPipeByNameAreRefused) {
  const ScratchFolder folder;
  const std::string records = folder.write("records.jsonl", to_line(Record{}) + "\n");
  const Finished done = run_program(
      {"/bin/bash", "-c", "\"$0\" report csv <(cat \"$1\")", plumbline_argv({}).front(), records});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("is a pipe, and only regular files are read"));
}

TEST(ReportOfOtherTools, HelpNamesEveryAssumption) {
  const Finished help = run_program(plumbline_argv({"report", "--help"}));
  const auto known = parse_assumptions({"?=1"});
  ASSERT_FALSE(known);
  const std::string& hint = known.error().hint;  // "KEY=VALUE with one of: ranks, unit, op"
  std::istringstream names(hint.substr(hint.rfind(':') + 1));
  size_t count = 0;
  for (std::string name; names >> name; ++count) {
    std::erase(name, ',');
    EXPECT_THAT(help.out, HasSubstr(name + "="));
  }
  EXPECT_GE(count, 3u);
}

}  // namespace
}  // namespace plumbline
