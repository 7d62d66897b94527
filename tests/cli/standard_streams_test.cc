// Started with standard input, output or error closed: the next file that is opened takes their
// number, and a report went into records.jsonl.
#include <gmock/gmock.h>

#include "core/record/record.h"
#include "tests/support/program.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTiny = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"op": "barrier", "stop": {"max_time": "20ms"}}], "report": ["console", "csv"]})";

// A shell closes what `closed` names (bits of 0, 1, 2) and starts plumbline.
Finished run_closed(unsigned closed, std::vector<std::string> arguments) {
  std::string script = "exec \"$@\"";
  if ((closed & 1U) != 0) script += " <&-";
  if ((closed & 2U) != 0) script += " >&-";
  if ((closed & 4U) != 0) script += " 2>&-";
  std::vector<std::string> argv = plumbline_argv(arguments);
  argv.insert(argv.begin(), {"sh", "-c", script, "sh"});
  return run_program(argv);
}

TEST(StandardStreams, ARunWithAnyOfThemClosedKeepsItsRecordsAndNothingElseInThem) {
  for (unsigned closed = 0; closed < 8; ++closed) {
    const ScratchFolder folder;
    const std::string scenario = folder.write("s.json", kTiny);
    const Finished done =
        run_closed(closed, {"run", scenario, "--out", folder.path("out"), "--no-history"});
    const bool no_output = (closed & 2U) != 0;
    EXPECT_EQ(done.status, no_output ? 1 : 0) << closed << done.err;
    std::vector<std::string> warnings;
    const auto records = read_records(folder.path("out/records.jsonl"), &warnings);
    ASSERT_TRUE(records) << closed;
    EXPECT_EQ(records->size(), 1u) << closed;
    EXPECT_TRUE(warnings.empty()) << closed << warnings.front();
    EXPECT_THAT(read_file(folder.path("out/records.jsonl")), Not(HasSubstr("Records:"))) << closed;
    EXPECT_THAT(read_file(folder.path("out/records.csv")), Not(HasSubstr("Records:"))) << closed;
    EXPECT_EQ(done.out.find("Records:") != std::string::npos, !no_output) << closed;
    EXPECT_EQ(done.err.find("standard output is closed") != std::string::npos,
              closed == 2 || closed == 3)
        << closed;
  }
}

TEST(StandardStreams, AReportThatCannotBeWrittenIsAnError) {
  const ScratchFolder folder;
  const std::string records = folder.write("records.jsonl", to_line(Record{}) + "\n");
  for (unsigned closed = 0; closed < 8; ++closed) {
    const Finished done = run_closed(closed, {"report", "csv", records});
    EXPECT_EQ(done.status, (closed & 2U) != 0 ? 1 : 0) << closed << done.err;
    EXPECT_EQ(read_file(records), to_line(Record{}) + "\n") << closed;
    EXPECT_EQ(done.out.find("cell") != std::string::npos, (closed & 2U) == 0) << closed;
  }
  // A standard input that is closed is an empty one.
  EXPECT_EQ(run_closed(1, {"report", "csv", "-"}).status, 1);
  EXPECT_EQ(run_closed(7, {"version"}).status, 1);
}

}  // namespace
}  // namespace plumbline
