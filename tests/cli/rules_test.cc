// Rules as users meet them: `run`, `plan` and `report` with `expect`, --rules and --baseline.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Two latency cells and a check, with these rules.
std::string ruled(const std::string& rules, const std::string& more = "") {
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
    folder_.write("s.json", ruled(rules, keys));
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
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("1 rule: 1 pass"));
  EXPECT_EQ(report({}).status, 0);
}

TEST_F(Rules, ABrokenOneGivesExitCodeFourAndNamesCellsAndValues) {
  const Finished done = run(std::string(kGood) + "," + kTooFast);
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("rule broken: no light is faster"));
  EXPECT_THAT(done.err, HasSubstr("allreduce ring, 2 ranks, shm, 4 KiB"));
  EXPECT_THAT(done.err, HasSubstr("1 of 1 result"));
  EXPECT_THAT(done.err, HasSubstr("$.expect[1]"));
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("2 rules: 1 pass, 1 fail"));
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
  EXPECT_THAT(report({"--rules", second}).out, HasSubstr("2 rules: 1 pass, 1 fail"));
  EXPECT_EQ(report({"--rules", first}).status, 0);
  // Records alone, without the folder's own rules.
  fs::remove(path("out/rules.json"));
  EXPECT_THAT(report({"--rules", first, "--rules", second}).out,
              HasSubstr("2 rules: 1 pass, 1 fail"));
}

TEST_F(Rules, WhatIsWrongWithOneIsSaidBeforeAnythingStarts) {
  const Finished unknown = run(R"({"where": {"op": "allreduce"}, "busbw_of_rof": ">=0.7"})");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("$.expect[0].busbw_of_rof: unknown metric 'busbw_of_rof'; did "
                                     "you mean 'busbw_of_roof'?"));
  const Finished file = run("", {"--rules", rule_file(R"({"p50": "10us"})")});
  EXPECT_EQ(file.status, 1);
  EXPECT_THAT(file.err,
              HasSubstr(path("r.json") + ":1:36: $.expect[0].p50: '10us' has no relation"));
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
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("1 rule: 1 pass"));
  EXPECT_EQ(report({}).status, 0) << "the rule that was left out is not kept";
}

TEST_F(Rules, PlanAndDryRunShowThem) {
  folder_.write("s.json", ruled(std::string(kTooFast) + "," + kGood));
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
  // A busy machine may take ten thousand times as long the second time.
  const std::string lenient =
      R"({"where": {"op": "allreduce"}, "p50_of_baseline": "<=1000000000"})";
  const Finished done = run(lenient, {"--baseline", path("old")});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(read_file(path("out/report.md")), HasSubstr("p50_of_baseline"));
  EXPECT_EQ(report({}).status, 0) << "the baseline is kept with the rule";
  const std::string strict = rule_file(
      R"({"where": {"op": "allreduce"}, "baseline": "old", "p50_of_baseline": "<=0.0000001"})");
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

// A copy of the finished run with these rules beside it.
TEST_F(Rules, KeptOnesAreAboutTheirOwnFolderOnly) {
  ASSERT_EQ(run("").status, 0);
  fs::copy(path("out"), path("b"));
  const std::string fast = R"({"name": "at once", "where": {"op": "allreduce"}, "p50": "<=1ns"})";
  rule_file(fast, "b/rules.json");
  const Finished alone = run_program(plumbline_argv({"report", "console", path("b")}));
  EXPECT_EQ(alone.status, 4);
  EXPECT_THAT(alone.err, HasSubstr("2 of 2 results"));
  // A record of the other folder that would break its rule is no business of this one.
  const Finished both = report({path("b")});
  EXPECT_EQ(both.status, 4);
  EXPECT_THAT(both.err, HasSubstr("2 of 2 results")) << "not the four of both folders";
  EXPECT_THAT(both.err, HasSubstr("records of " + path("b")));
  EXPECT_THAT(both.out, HasSubstr("records of " + path("b") + ": at once"));
  // By hand they are about everything that is reported; the kept one is then no second rule.
  const Finished hand = report({path("b"), "--rules", path("b/rules.json")});
  EXPECT_THAT(hand.out, HasSubstr("1 rule: 1 fail"));
  EXPECT_THAT(hand.err, testing::Not(HasSubstr("records of")));
}

TEST_F(Rules, ThatSeveralFoldersKeepAreJudgedOnceOnAllOfThem) {
  ASSERT_EQ(run(kTooFast).status, 4);
  fs::copy(path("out"), path("b"));
  const std::string records = read_file(path("b/records.jsonl"));
  const std::string id = read_records(path("b/records.jsonl"))->front().run_id;
  std::string other = records;
  for (size_t at = other.find(id); at != std::string::npos; at = other.find(id, at)) {
    other.replace(at, id.size(), "0000000000000000");
  }
  folder_.write("b/records.jsonl", other);
  const Finished both = report({path("b")});
  EXPECT_EQ(both.status, 4);
  EXPECT_THAT(both.out, HasSubstr("1 rule: 1 fail"));
  EXPECT_THAT(both.err, HasSubstr("2 of 2 results"));
  EXPECT_THAT(both.err, HasSubstr("run " + id));
  EXPECT_THAT(both.err, HasSubstr("run 0000000000000000"));
}

// A name with the run's folder in it is a new test, or a new series, in every run of a CI system.
TEST_F(Rules, NamesOfTestsHoldNoFolder) {
  ASSERT_EQ(run(std::string(kGood) + "," + kTooFast).status, 4);
  fs::create_directory(path("next"));
  fs::rename(path("out"), path("next/run"));
  const auto of_next = [&](const char* name) {
    return run_program(plumbline_argv({"report", name, path("next/run")})).out;
  };
  const std::string junit = of_next("junit"), metrics = of_next("openmetrics");
  EXPECT_THAT(junit, HasSubstr("wrong is 0 (s.json $.expect[0])\""));
  EXPECT_THAT(junit, HasSubstr("(s.json $.expect[1])\""));
  EXPECT_THAT(metrics, HasSubstr("where=\"s.json $.expect[1]\"} 0"));
  EXPECT_THAT(junit, testing::Not(HasSubstr(path("next"))));
  EXPECT_THAT(metrics, testing::Not(HasSubstr(path("next"))));
  // Two that read alike are still two.
  rule_file(std::string(kGood) + R"(,{"wrong": 0, "message": "?"})", "next/run/rules.json");
  const std::string alike = of_next("openmetrics");
  EXPECT_THAT(alike, HasSubstr("where=\"rules.json $.expect[0]\"} 1"));
  EXPECT_THAT(alike, HasSubstr("where=\"rules.json $.expect[1]\"} 1"));
}

TEST_F(Rules, KeptOnesThatCannotBeAppliedAreARemark) {
  ASSERT_EQ(run("").status, 0);
  rule_file(R"({"p50_of_baseline": "<=1.05"},)" + std::string(kGood), "out/rules.json");
  const Finished done = report({}, "csv");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("needs a baseline"));
  EXPECT_THAT(done.err, HasSubstr("is not judged"));
  EXPECT_THAT(report({}).out, HasSubstr("1 rule: 1 pass"));
  // With what it needs it is judged; the same rule by hand is an error without.
  EXPECT_THAT(report({"--baseline", path("out")}).out, HasSubstr("p50_of_baseline 100 %"));
  const std::string hand = rule_file(R"({"p50_of_baseline": "<=1.05"})");
  EXPECT_EQ(report({"--rules", hand}).status, 1);
  // A baseline that is there and cannot be read, beside and by hand.
  fs::create_directory(path("odd"));
  folder_.write("odd/records.jsonl", "no record\n");
  const std::string odd = R"({"baseline": ")" + path("odd") + R"(", "p50_of_baseline": "<=1.05"})";
  rule_file(odd, "out/rules.json");
  EXPECT_EQ(report({}).status, 0);
  EXPECT_THAT(report({}).err, HasSubstr("is not judged"));
}

TEST_F(Rules, WhatIsTakenFromBesideTheRecordsIsSaid) {
  ASSERT_EQ(run(std::string(kGood) + "," + kTooFast).status, 4);
  for (const char* name : {"console", "markdown", "html"}) {
    EXPECT_THAT(report({}, name).out,
                HasSubstr("2 rules were taken from " + path("out/rules.json")))
        << name;
  }
  EXPECT_THAT(read_file(path("out/report.md")), testing::Not(HasSubstr("taken from")));
  // Whoever wrote them: no text of theirs steers the terminal.
  rule_file(R"({"name": "a\u001b[31mb", "from": "c\u001b[32md", "wrong": ">0"},)"
            R"({"name": "e\u001b[33mf", "p50_of_baseline": "<=1"})",
            "out/rules.json");
  const Finished hostile = report({});
  EXPECT_THAT(hostile.err, HasSubstr("rule broken"));
  EXPECT_THAT(hostile.err, HasSubstr("is not judged"));
  EXPECT_THAT(hostile.err + hostile.out, testing::Not(HasSubstr("\x1b")));
}

TEST_F(Rules, NothingLiesBesideTheStandardInput) {
  ASSERT_EQ(run("").status, 0);
  rule_file(kTooFast, "rules.json");
  const std::vector<std::string> here = plumbline_argv({});
  const std::string command = "cd '" + path("") + "' && '" + here.front() + "' report csv - < '" +
                              path("out/records.jsonl") + "'";
  EXPECT_EQ(run_program({"/bin/sh", "-c", command}).status, 0);
}

// It looked as if the run had been compared with it.
TEST_F(Rules, ABaselineThatNoRuleUsesIsSaid) {
  const Finished done = run(kGood, {"--baseline", path("none")});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("--baseline " + path("none") + " is not used"));
  EXPECT_THAT(report({"--baseline", path("out")}).err, HasSubstr("is not used"));
  EXPECT_THAT(report({}).err, testing::Not(HasSubstr("is not used")));
}

TEST_F(Rules, AnOldFolderWithABrokenRuleFileStillReports) {
  ASSERT_EQ(run(kGood).status, 0);
  folder_.write("out/rules.json", "{");
  const Finished done = report({});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("the rules beside the records are not judged"));
}

TEST_F(Rules, InASoakTheLastRoundCounts) {
  const Finished done = run(R"({"where": {"op": "allreduce"}, "p50": "<=1ns"}, {"wrong": 0})",
                            {"--for", "1s", "--every", "400ms"});
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_THAT(done.err, HasSubstr("2 of 2 results")) << "two cells, however many rounds";
}

}  // namespace
}  // namespace plumbline
