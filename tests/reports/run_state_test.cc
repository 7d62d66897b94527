// What a report made later knows of a run that did not get to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/file.h"
#include "reports/read_input.h"
#include "reports/report.h"
#include "samples.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string made(const char* report, const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  EXPECT_TRUE(find_report(report)->write(input, target));
  return out.str();
}

TEST(RunState, HoldsNoControlCharactersAndTheSameWords) {
  const TemporaryFolder folder;
  RunState state;
  state.state = "stopped";
  state.reason = "a\x7f\xc2\x85\xe2\x80\xae z";
  ASSERT_TRUE(keep_run_state(folder.path().string(), state));
  std::stringstream text;
  text << std::ifstream(folder.path() / kRunStateFile).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"(a\u007f\u0085\u202e z)"));
  const auto again = read_run_state(folder.path().string());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reason, state.reason);
}

TEST(RunState, ComesBackFromTheFolder) {
  const TemporaryFolder folder;
  for (const char* word : {"running", "finished", "interrupted", "stopped"}) {
    RunState state;
    state.state = word;
    state.reason = "records cannot be written: \"disk\" full\n";
    state.planned = 9;
    state.measured = 1;
    ASSERT_TRUE(keep_run_state(folder.path().string(), state));
    const auto again = read_run_state(folder.path().string());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->state, word);
    EXPECT_EQ(again->reason, state.reason);
    EXPECT_EQ(again->planned, 9u);
    EXPECT_EQ(again->measured, 1u);
  }
}

TEST(RunState, AFolderOfAnOlderVersionIsNotCalledIncomplete) {
  const TemporaryFolder folder;
  ReportInput input;
  read_run_folder(folder.path().string(), input);
  EXPECT_THAT(input.incomplete, SizeIs(0));
  EXPECT_THAT(input.notes, SizeIs(0));
}

TEST(RunState, BrokenFilesAreARemark) {
  for (const std::string text :
       {"", "[]", "{}", R"({"state": 7})", R"({"state": "finished", "planned": -1})",
        R"({"state": "finished", "measured": 1e99})", R"({"state": "finis)"}) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / kRunStateFile) << text;
    ReportInput input;
    read_run_folder(folder.path().string(), input);
    ASSERT_THAT(input.notes, SizeIs(1)) << text;
    EXPECT_THAT(input.notes[0], HasSubstr("run.json: left out"));
  }
}

TEST(RunState, SaysWhatIsMissingAndHowToGetIt) {
  RunState state;
  state.state = "interrupted";
  state.planned = 9;
  state.measured = 1;
  EXPECT_THAT(incomplete_text(state, "my out"),
              AllOf(HasSubstr("interrupted after 1 of 9 cells"), HasSubstr("--out 'my out'")));
  state.state = "stopped";
  state.reason = "no\nspace";
  EXPECT_THAT(incomplete_text(state, "x"),
              AllOf(HasSubstr("stopped after 1 of 9 cells: no space"), Not(HasSubstr("\n"))));
  state.state = "running";  // nobody could say more
  EXPECT_THAT(incomplete_text(state, "x"), AllOf(HasSubstr("killed"), HasSubstr("9 cells")));
  state.planned = 0;
  state.state = "interrupted";  // a soak
  EXPECT_THAT(incomplete_text(state, "x"), Not(HasSubstr("--resume")));
  state.state = "finished";
  EXPECT_EQ(incomplete_text(state, "x"), "");
}

// One of nine cells is there, and it passed: no report may look as if that were all.
TEST(RunState, NoReportOfAnInterruptedRunLooksComplete) {
  const TemporaryFolder folder;
  RunState state;
  state.state = "interrupted";
  state.planned = 9;
  state.measured = 1;
  ASSERT_TRUE(keep_run_state(folder.path().string(), state));
  ReportInput input;
  input.records = {samples::record("latency", "allreduce", "ring", 2, 8, 10'000)};
  read_run_folder(folder.path().string(), input);
  for (const char* report : {"console", "markdown", "html", "junit"}) {
    EXPECT_THAT(made(report, input), HasSubstr("interrupted after 1 of 9 cells")) << report;
  }
  EXPECT_THAT(made("html", input),
              AllOf(HasSubstr("<strong>Incomplete</strong>"), Not(HasSubstr("<strong>Sound"))));
  EXPECT_THAT(made("junit", input), HasSubstr("errors=\"1\""));
}

}  // namespace
}  // namespace plumbline
