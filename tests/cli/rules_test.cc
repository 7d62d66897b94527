// Rules as users meet them: `run`, `plan` and `report` with `expect`, --rules and --baseline.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two latency cells and a check, with these rules.
std::string scenario(const std::string& rules, const std::string& more = "") {
  return R"({"plumbline": 1, "launch": {"port_base": "auto"}, "roofs": false, "report": ["markdown"],
    "matrix": [{"op": "allreduce", "bytes": [8, 4096], "algorithm": "ring",
                "stop": {"max_n": 50, "max_time": "50ms"}},
               {"kind": "check", "op": "broadcast", "bytes": 1000}],)" +
         more + R"("expect": [)" + rules + "]}";
}

class Rules : public testing::Test {
 protected:
  Finished run(const std::string& rules, const std::vector<std::string>& more = {},
               const std::string& keys = "") {
    folder_.write("s.json", scenario(rules, keys));
    std::vector<std::string> words = {"run", path("s.json"), "--out", path("out")};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(plumbline_argv(words));
  }
  Finished report(const std::vector<std::string>& more, const std::string& name = "console") {
    std::vector<std::string> words = {"report", name, path("out")};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(plumbline_argv(words));
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string rule_file(const std::string& rules, const std::string& name = "r.json") {
    return folder_.write(name, R"({"plumbline_rules": 1, "expect": [)" + rules + "]}");
  }
  bool started() const { return fs::exists(path("out")); }

  ScratchFolder folder_;
};

constexpr const char* kGood = R"({"wrong": 0})";
constexpr const char* kTooFast =
    R"({"name": "no light is faster", "where": {"op": "allreduce", "bytes": ">=1Ki"}, "p50": "<=1ns"})";

TEST_F(Rules, ThatHoldChangeNothing) {
  const Finished done = run(kGood);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("1 of 1 rules hold"));
  EXPECT_EQ(report({}).status, 0);
}

TEST_F(Rules, ABrokenOneGivesExitCodeFourAndNamesCellsAndValues) {
  const Finished done = run(std::string(kGood) + "," + kTooFast);
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("rule broken: no light is faster"));
  EXPECT_THAT(done.err, HasSubstr("allreduce ring, 2 ranks, tcp, 4 KiB"));
  EXPECT_THAT(done.err, HasSubstr("1 of 1 result"));
  EXPECT_THAT(done.err, HasSubstr("$.expect[1]"));
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("1 of 2 rules BROKEN"));
  // A report of the finished run tells the same.
  const Finished again = report({});
  EXPECT_EQ(again.status, 4);
  EXPECT_THAT(again.out, HasSubstr("no light is faster"));
  EXPECT_EQ(report({}, "csv").status, 4);
}

TEST_F(Rules, FilesAreJudgedWithTheRunAndOnOldOnes) {
  const std::string first = rule_file(kGood, "first.json");
  const std::string second = rule_file(kTooFast, "second.json");
  EXPECT_EQ(run("", {"--rules", first}).status, 0);
  EXPECT_EQ(report({"--rules", second}).status, 4);
  EXPECT_THAT(report({"--rules", second}).out, HasSubstr("1 of 2 rules BROKEN"));
  EXPECT_EQ(report({"--rules", first}).status, 0);
  // Records alone, without the folder's own rules.
  fs::remove(path("out/rules.json"));
  EXPECT_THAT(report({"--rules", first, "--rules", second}).out, HasSubstr("1 of 2 rules BROKEN"));
}

TEST_F(Rules, WhatIsWrongWithOneIsSaidBeforeAnythingStarts) {
  const Finished unknown = run(R"({"where": {"op": "allreduce"}, "busbw_of_rof": ">=0.7"})");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("$.expect[0].busbw_of_rof: unknown metric 'busbw_of_rof'; did "
                                     "you mean 'busbw_of_roof'?"));
  const Finished file = run("", {"--rules", rule_file(R"({"p50": "10us"})")});
  EXPECT_EQ(file.status, 1);
  EXPECT_THAT(file.err, HasSubstr(path("r.json") + ": $.expect[0].p50: '10us' has no relation"));
  EXPECT_EQ(run("", {"--rules", path("none.json")}).status, 1);
  const Finished baseline = run(R"({"p50_of_baseline": "<=1.05"})");
  EXPECT_EQ(baseline.status, 1);
  EXPECT_THAT(baseline.err, HasSubstr("--baseline DIR"));
  const Finished lost = run(R"({"p50_of_baseline": "<=1.05"})", {"--baseline", path("none")});
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.err, HasSubstr(path("none")));
  EXPECT_FALSE(started());
}

// It would only break after hours of measuring.
TEST_F(Rules, OneThatIsAboutNoCellIsFoundBeforeTheRun) {
  const Finished done = run(R"({"where": {"op": "alltoall"}, "wrong": 0})");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("is about no cell of the plan"));
  const Finished nothing = run(R"({"where": {"kind": "check"}, "p50": "<=1s"})");
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("means nothing for the 1 cell"));
  const Finished roof = run(R"({"where": {"op": "allreduce"}, "latency_of_roof": ">=0.1"})");
  EXPECT_EQ(roof.status, 1);
  EXPECT_THAT(roof.err, HasSubstr("compares with a roof, and none will be measured"));
  EXPECT_FALSE(started());
  EXPECT_EQ(run(R"({"where": {"op": "alltoall"}, "wrong": 0, "optional": true})").status, 0);
}

TEST_F(Rules, OnlyLeavesOutRulesInsteadOfBreakingThem) {
  const Finished done =
      run(R"({"where": {"op": "broadcast"}, "wrong": 0}, {"wrong": 0})", {"--only", "allreduce"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("is left out: --only and --skip leave nothing to judge it by"));
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("1 of 1 rules hold"));
  EXPECT_EQ(report({}).status, 0) << "the rule that was left out is not kept";
}

TEST_F(Rules, PlanAndDryRunShowThem) {
  folder_.write("s.json", scenario(std::string(kTooFast) + "," + kGood));
  for (const auto& words :
       {std::vector<std::string>{"plan", path("s.json")}, {"run", path("s.json"), "--dry-run"}}) {
    const Finished done = run_program(plumbline_argv(words));
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("p50 <=1ns): 1 cell\n"));
    EXPECT_THAT(done.out, HasSubstr("rule everything: wrong is 0: 3 cells\n"));
  }
  const Finished json = run_program(plumbline_argv({"plan", path("s.json"), "--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out)["rules"].size(), 2u);
}

TEST_F(Rules, SkippedCellsAreToldBeforeTheRun) {
  const std::string rule = R"({"where": {"kind": "check", "op": "allreduce"}, "wrong": 0)";
  const std::string text = R"({"plumbline": 1, "roofs": false,
    "matrix": [{"kind": "check", "op": "allreduce", "bytes": 64, "algorithm": "all", "ranks": 3}],
    "expect": [)";
  folder_.write("s.json", text + rule + "}]}");
  const Finished done = run_program(plumbline_argv({"plan", path("s.json")}));
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("will be skipped"));
  EXPECT_THAT(done.err, HasSubstr("\"optional\": true"));
  folder_.write("s.json", text + rule + R"(, "optional": true}]})");
  EXPECT_EQ(run_program(plumbline_argv({"plan", path("s.json")})).status, 0);
}

TEST_F(Rules, WorseThingsComeFirst) {
  // Wrong data, also where a rule is broken by it.
  folder_.write("s.json", R"({"plumbline": 1, "launch": {"port_base": "auto"}, "roofs": false,
    "matrix": [{"kind": "bandwidth", "op": "broadcast", "bytes": "64Ki", "stop": {"max_time": "50ms"}}],
    "expect": [{"wrong": 0}]})");
  const Finished done = run_program(plumbline_argv(
      {"run", path("s.json"), "--out", path("out"), "--fault", "flip:rank=0,peer=1,after=100000"}));
  EXPECT_EQ(done.status, 3) << done.err;
  EXPECT_THAT(done.err, HasSubstr("rule broken"));
}

TEST_F(Rules, RelativeToABaseline) {
  ASSERT_EQ(run("").status, 0);
  fs::rename(path("out"), path("old"));
  const std::string lenient = R"({"where": {"op": "allreduce"}, "p50_of_baseline": "<=1000"})";
  const Finished done = run(lenient, {"--baseline", path("old")});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("p50_of_baseline"));
  EXPECT_EQ(report({}).status, 0) << "the baseline is kept with the rule";
  const std::string strict = rule_file(
      R"({"where": {"op": "allreduce"}, "baseline": "old", "p50_of_baseline": "<=0.001"})");
  const Finished broken = report({"--rules", strict});
  EXPECT_EQ(broken.status, 4);
  EXPECT_THAT(broken.err, HasSubstr("p50_of_baseline"));
  fs::remove_all(path("old"));
  const Finished gone = report({});
  EXPECT_EQ(gone.status, 0);
  EXPECT_THAT(gone.err, HasSubstr("is not there any more"));
}

TEST_F(Rules, RelativeToTheSpeedOfTheLink) {
  const std::string rule = R"({"where": {"op": "allreduce"}, "busbw_of_link": ">=0.000001"})";
  const Finished unknown = run(rule);
  EXPECT_EQ(unknown.status, 4);
  EXPECT_THAT(unknown.err, HasSubstr("speed of its link is not known"));
  fs::remove_all(path("out"));
  const Finished stated = run(rule, {}, R"("hosts": [
    {"name": "a", "local": true, "data": ["127.0.0.1/8"], "speed": "10Gbit"},
    {"name": "b", "local": true, "data": ["127.0.0.1/8"], "speed": "1Gbit"}],)");
  EXPECT_EQ(stated.status, 0) << stated.err;
  EXPECT_THAT(read_file(path("out/records.jsonl")), HasSubstr("\"link_bps\":1000000000.0"))
      << "the slower end counts";
}

TEST_F(Rules, AnOldFolderWithABrokenRuleFileStillReports) {
  ASSERT_EQ(run(kGood).status, 0);
  folder_.write("out/rules.json", "{");
  const Finished done = report({});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("the rules of this run are not judged"));
}

TEST_F(Rules, InASoakTheLastRoundCounts) {
  const Finished done = run(R"({"where": {"op": "allreduce"}, "p50": "<=1ns"}, {"wrong": 0})",
                            {"--for", "1s", "--every", "400ms"});
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("2 of 2 results")) << "two cells, however many rounds";
}

}  // namespace
}  // namespace plumbline
