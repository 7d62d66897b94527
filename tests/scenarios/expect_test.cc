// Rules of a scenario and of files of their own: what is read, what is refused, what they cover.
#include <gmock/gmock.h>

#include "scenarios/read_expect.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

Vocabulary with_metrics() {
  Vocabulary v = vocabulary();
  const std::pair<const char*, const char*> kMetrics[] = {
      {"p50", "time"},    {"busbw", "rate"}, {"busbw_of_roof", "share"},
      {"wrong", "count"}, {"noise", "word"}, {"p50_of_baseline", "share"}};
  for (const auto& [name, unit] : kMetrics) v.metrics.push_back(named(name, unit));
  return v;
}

std::string scenario_with(const std::string& rules) {
  return with_matrix(R"({"op": ["allreduce", "barrier"], "bytes": [8, "16Mi"]})",
                     R"(, "expect": [)" + rules + "]");
}

std::vector<Rule> rules_of(const std::string& rules) {
  const auto scenario = parse_scenario(scenario_with(rules), "test.json", with_metrics());
  if (scenario) return scenario->expect;
  ADD_FAILURE() << all_lines(scenario.error());
  return {};
}

std::string rule_problems(const std::string& rules) {
  const auto scenario = parse_scenario(scenario_with(rules), "test.json", with_metrics());
  return scenario ? "" : all_lines(scenario.error());
}

TEST(Expect, ReadsARule) {
  const auto rules = rules_of(
      R"({"name": "near the roof", "message": "is the cable loose?", "optional": true,
          "where": {"op": ["allreduce", "broadcast"], "bytes": ">= 16Mi", "ranks": 2, "config": {"mesh": "lazy"}},
          "busbw_of_roof": ">=0.7", "noise": ["clean", "noisy"]},
         {"wrong": 0})");
  ASSERT_EQ(rules.size(), 2u);
  const Rule& rule = rules[0];
  EXPECT_EQ(rule.name, "near the roof");
  EXPECT_EQ(rule.message, "is the cable loose?");
  EXPECT_TRUE(rule.optional);
  EXPECT_THAT(rule.place, MatchesRegex("test.json:[0-9]+:[0-9]+: \\$.expect\\[0\\]"));
  std::vector<std::string> terms;
  for (const FilterTerm& term : rule.where) terms.push_back(term.text());
  EXPECT_THAT(terms,
              ElementsAre("op=allreduce,broadcast", "bytes>=16Mi", "ranks=2", "config.mesh=lazy"));
  ASSERT_EQ(rule.bounds.size(), 2u);
  EXPECT_EQ(rule.bounds[0].metric, "busbw_of_roof");
  EXPECT_THAT(rule.bounds[1].words, ElementsAre("clean", "noisy"));
  EXPECT_FALSE(rules[1].optional);
  EXPECT_TRUE(rules[1].where.empty());
}

TEST(Expect, NoRulesAreNoProblem) { EXPECT_TRUE(rules_of("").empty()); }

struct Wrong {
  const char* rule;
  const char* where;
  const char* message;
};

TEST(Expect, SaysWhereARuleIsWrongAndWhatIsNear) {
  const Wrong kWrong[] = {
      {R"({"where": {"op": "allreduse"}, "wrong": 0})",
       "$.expect[0].where.op:", "did you mean 'allreduce'?"},
      {R"({"where": {"algorithm": "rign"}, "wrong": 0})",
       "$.expect[0].where.algorithm:", "did you mean 'ring'?"},
      {R"({"where": {"algorithm": "exchange:2xx2y"}, "wrong": 0})",
       "$.expect[0].where.algorithm:", "is no list of radices"},
      {R"({"where": {"bites": 8}, "wrong": 0})",
       "$.expect[0].where.bites:", "did you mean 'bytes'?"},
      {R"({"where": {"bytes": ">=16Q"}, "wrong": 0})", "$.expect[0].where.bytes:", "unknown unit"},
      {R"({"where": {"bytes": [8, ">=16Mi"]}, "wrong": 0})",
       "$.expect[0].where.bytes:", "within a list"},
      {R"({"where": {"bytes": {"from": 8}}, "wrong": 0})",
       "$.expect[0].where.bytes:", "is an object"},
      {R"({"where": {"config": {"chunk_bites": 8}}, "wrong": 0})",
       "$.expect[0].where.config.chunk_bites:", "no such option"},
      {R"({"where": "allreduce", "wrong": 0})", "$.expect[0].where:", "expected an object"},
      {R"({"busbw_of_rof": ">=0.7"})",
       "$.expect[0].busbw_of_rof:", "did you mean 'busbw_of_roof'?"},
      {R"({"p50": "<=10"})", "$.expect[0].p50:", "a time is written like"},
      {R"({"p50": "10us"})", "$.expect[0].p50:", "has no relation"},
      {R"({"p50": 10})", "$.expect[0].p50:", "is no bound of a time"},
      {R"({"busbw": ">=5us"})", "$.expect[0].busbw:", "a rate is written like"},
      {R"({"wrong": true})", "$.expect[0].wrong:", "is no bound of a count"},
      {R"({"wrong": {"max": 0}})", "$.expect[0].wrong:", "is an object"},
      {R"({"optional": "yes", "wrong": 0})", "$.expect[0].optional:", "true or false"},
      {R"({"where": {"op": "allreduce"}})", "$.expect[0]:", "expects nothing"},
      {R"({})", "$.expect[0]:", "expects nothing"},
      {R"(5)", "$.expect[0]:", "is 5"},
      {R"({"a\u001b[31m": 0})", "$.expect[0]", "unknown metric 'a?[31m'"},
  };
  for (const Wrong& each : kWrong) {
    SCOPED_TRACE(each.rule);
    const std::string said = rule_problems(each.rule);
    EXPECT_THAT(said, HasSubstr(each.where));
    EXPECT_THAT(said, HasSubstr(each.message));
  }
}

TEST(Expect, ARuleOfOneProblemDoesNotAlsoExpectNothing) {
  EXPECT_EQ(rule_problems(R"({"p50": "<=10"})").find("expects nothing"), std::string::npos);
}

TEST(Expect, BaselineIsRelativeToItsFile) {
  const TempFolder folder;
  folder.write("s.json", scenario_with(R"({"baseline": "old", "p50_of_baseline": "<=1.05"})"));
  const auto scenario = load_scenario(folder.path("s.json"), with_metrics());
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  EXPECT_EQ(scenario->expect[0].baseline, folder.path("old"));
  EXPECT_TRUE(scenario->expect[0].needs_baseline());
  EXPECT_THAT(scenario->expect[0].json, HasSubstr(folder.path("old"))) << "kept with the run";
}

std::string file_problems(const std::string& text) {
  const TempFolder folder;
  const auto rules = load_rules(folder.write("r.json", text), with_metrics());
  return rules ? "" : all_lines(rules.error());
}

// Tests and series are named after it: the same wherever the file lies, and in the rules that a run
// keeps.
TEST(Expect, OriginHasNoFolderAndIsKept) {
  const TempFolder folder;
  folder.write("s.json", scenario_with(R"({"wrong": 0})"));
  const auto scenario = load_scenario(folder.path("s.json"), with_metrics());
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  EXPECT_THAT(scenario->expect[0].place, MatchesRegex(".*s.json:1:[0-9]+: \\$.expect\\[0\\]"));
  EXPECT_EQ(scenario->expect[0].origin, "s.json $.expect[0]");
  const auto kept = load_rules(folder.write("rules.json", R"({"plumbline_rules": 1, "expect": [
                                   {"from": "s.json $.expect[4]", "wrong": 0}]})"),
                               with_metrics());
  ASSERT_TRUE(kept) << all_lines(kept.error());
  EXPECT_EQ((*kept)[0].origin, "s.json $.expect[4]");
  EXPECT_THAT((*kept)[0].place, MatchesRegex(".*rules.json:[0-9]+:[0-9]+: \\$.expect\\[0\\]"));
  EXPECT_EQ((*kept)[0].json, scenario->expect[0].json) << "the same rule, wherever it stands";
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 1, "expect": [{"from": 3, "wrong": 0}]})"),
              ContainsRegex("r.json:[0-9:]+: \\$.expect\\[0\\].from"));
}

TEST(RuleFile, IsReadLikeTheKey) {
  const TempFolder folder;
  const auto rules = load_rules(folder.write("r.json", R"({"plumbline_rules": 1, // of our cluster
                               "expect": [{"where": {"op": "allreduce"}, "wrong": 0}]})"),
                                with_metrics());
  ASSERT_TRUE(rules) << all_lines(rules.error());
  ASSERT_EQ(rules->size(), 1u);
  EXPECT_THAT((*rules)[0].place, MatchesRegex(".*r.json:[0-9]+:[0-9]+: \\$.expect\\[0\\]"));
}

TEST(RuleFile, SaysWhatIsWrong) {
  EXPECT_THAT(file_problems("[]"), HasSubstr("is no rule file"));
  EXPECT_THAT(file_problems("{"), HasSubstr("r.json:1:2: the file ends here"));
  EXPECT_THAT(file_problems(""), HasSubstr("r.json"));
  EXPECT_THAT(file_problems(R"({"expect": []})"), HasSubstr("'plumbline_rules' is missing"));
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 2, "expect": []})"), HasSubstr("is not 1"));
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 1})"), HasSubstr("'expect' is missing"));
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 1, "expct": []})"),
              HasSubstr("did you mean 'expect'?"));
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 1, "expect": {"wrong": 0}})"),
              ContainsRegex("r.json:[0-9:]+: \\$.expect: is an object"));
  EXPECT_THAT(
      file_problems(R"({"plumbline_rules": 1, "expect": [{"worng": 0}]})"),
      HasSubstr("r.json:1:36: $.expect[0].worng: unknown metric 'worng'; did you mean 'wrong'?"));
  EXPECT_THAT(file_problems(R"({"plumbline_rules": 1, "expect": [], "expect": []})"),
              HasSubstr("expect"));
  const auto none = load_rules("/proc/none/r.json", with_metrics());
  ASSERT_FALSE(none);
  EXPECT_THAT(all_lines(none.error()), HasSubstr("/proc/none/r.json"));
}

TEST(RuleCoverage, CountsCellsAndSkips) {
  const auto rules = rules_of(R"({"where": {"op": "allreduce"}, "wrong": 0},
                                {"where": {"bytes": ">=16Mi"}, "wrong": 0},
                                {"where": {"op": "broadcast"}, "wrong": 0},
                                {"where": {"op": "allreduce"}, "noise": "clean"})");
  const Plan plan = plan_of(parse(with_matrix(
      R"({"op": ["allreduce", "barrier"], "algorithm": "all", "bytes": [8, "16Mi"], "ranks": [2, 3]})")));
  const auto only_wrong = [](const std::string& metric, const Cell&) { return metric == "wrong"; };
  const RuleCover allreduce = cover_of(rules[0], plan, only_wrong);
  EXPECT_EQ(allreduce.cells, 12u);  // three algorithms, two sizes, two numbers of ranks
  EXPECT_EQ(allreduce.skipped, 2u) << "doubling over three ranks";
  EXPECT_TRUE(allreduce.asked);
  EXPECT_EQ(cover_of(rules[1], plan, only_wrong).cells, 6u) << "no roofs";
  EXPECT_EQ(cover_of(rules[2], plan, only_wrong).cells, 0u);
  EXPECT_FALSE(cover_of(rules[3], plan, only_wrong).asked);
}

}  // namespace
}  // namespace plumbline::scenario_test
