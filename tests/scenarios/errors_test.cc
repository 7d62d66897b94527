// Whatever is wrong with a scenario is said in one line with its place, before anything starts.
#include <algorithm>

#include "tests/scenarios/broken_samples.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

std::vector<ScenarioProblem> problems_of(const std::string& text) {
  auto scenario = parse_scenario(text, "test.json", vocabulary());
  if (!scenario) return scenario.error();
  ADD_FAILURE() << "was accepted: " << text;
  return {};
}

// "$.sed" of "test.json:1:17: $.sed".
std::string path_of(const ScenarioProblem& problem) {
  EXPECT_EQ(problem.where.rfind("test.json:", 0), 0u) << problem.where;
  const size_t at = problem.where.find(": $");
  return at == std::string::npos ? problem.where : problem.where.substr(at + 2);
}

TEST(ScenarioErrors, EachBrokenSampleIsNamedWithPlaceAndWords) {
  ASSERT_GE(broken_samples().size(), 80u);
  for (const BrokenSample& sample : broken_samples()) {
    SCOPED_TRACE(sample.name);
    const auto problems = problems_of(sample.text);
    const bool named = std::any_of(problems.begin(), problems.end(), [&](const ScenarioProblem& p) {
      return path_of(p) == sample.where &&
             (p.message + " " + p.hint).find(sample.words) != std::string::npos;
    });
    EXPECT_TRUE(named) << "expected " << sample.where << ": ..." << sample.words << "\n"
                       << all_lines(problems);
    // One mistake is one problem: nothing that only follows from it.
    EXPECT_EQ(problems.size(), 1u) << all_lines(problems);
    for (const ScenarioProblem& p : problems) {
      const std::string line = to_line(p);
      const auto printable = [](char c) { return static_cast<unsigned char>(c) >= 0x20; };
      EXPECT_TRUE(std::all_of(line.begin(), line.end(), printable)) << line;
    }
  }
}

struct SyntaxSample {
  const char* name;
  std::string text;
  const char* where;
  const char* words;
};

TEST(ScenarioErrors, SyntaxIsNamedByLineAndColumn) {
  const std::vector<SyntaxSample> samples = {
      {"empty", "", "test.json:1:1", "the file is empty"},
      {"blank", " \n\t\n", "test.json:1:1", "the file is empty"},
      {"cut off", "{\n  \"plumbline\": 1,\n", "test.json:3:1", "the '{' of line 1 is not closed"},
      {"missing comma", "{\"plumbline\": 1\n \"seed\": 2}",
       "test.json:2:", "a comma is missing after 1 on line 1"},
      {"trailing comma", "{\"plumbline\": 1,}", "test.json:1:17",
       "the comma of line 1 is one too many"},
      {"NaN", "{\"plumbline\": 1,\n\"seed\": NaN}", "test.json:2:9", "JSON has no 'NaN'"},
      {"Infinity", "{\"plumbline\": 1,\n\"seed\": -Infinity}", "test.json:2:", "no '-Infinity'"},
      {"number too large", "{\"plumbline\": 1,\n\"seed\": 1e999}", "test.json:2:9",
       "too large a number"},
      {"bare word", "{plumbline: 1}", "test.json:1:2", "not in double quotes"},
      {"single quotes", "{'plumbline': 1}", "test.json:1:2", "double quotes"},
      {"open comment", "{\"plumbline\": 1} /* what", "test.json:1:", "comment"},
      {"two values", "{\"plumbline\": 1} {}", "test.json:1:18", "behind its end"},
      {"a zero byte", std::string("{\"plumbline\": 1, \0}", 19), "test.json:1:18",
       "does not belong"},
      {"latin 1", "{\n\"question\": \"gr\xfc\xdf\"}", "test.json:2:16", "not UTF-8"},
      {"utf-16", std::string("\xff\xfe{\0}\0", 6), "test.json:1:1", "not UTF-8"},
      {"overlong", "{\"\xc0\xaf\": 1}", "test.json:1:3", "not UTF-8"},
      {"surrogate", "{\"\xed\xa0\x80\": 1}", "test.json:1:3", "not UTF-8"},
      {"cut character", "{\"\xe2\x82", "test.json:1:3", "not UTF-8"},
      {"control character in text", "{\"question\": \"a\x01\"}", "test.json:1:16",
       "control character"},
      {"python", "#!/usr/bin/env python3\nprint(1)\n", "test.json:1:1", "begins no comment"},
  };
  for (const SyntaxSample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const auto problems = problems_of(sample.text);
    ASSERT_EQ(problems.size(), 1u) << all_lines(problems);
    EXPECT_EQ(problems[0].where.rfind(sample.where, 0), 0u) << all_lines(problems);
    EXPECT_NE(problems[0].message.find(sample.words), std::string::npos) << all_lines(problems);
    EXPECT_EQ(problems[0].message.find("json.exception"), std::string::npos);
  }
}

TEST(ScenarioErrors, DuplicateKeysAreRefusedWithTheirPath) {
  const auto problems = problems_of(
      R"({"plumbline": 1, "seed": 1, "seed": 2,
          "matrix": [{"op": "barrier"}, {"op": "barrier", "ranks": 2, "op": "reduce",
                      "stop": {"ci": 1, "ci": 0}}]})");
  const std::string lines = all_lines(problems);
  EXPECT_NE(lines.find("$.seed: key 'seed' is there twice"), std::string::npos) << lines;
  EXPECT_NE(lines.find("$.matrix[1].op: key 'op' is there twice"), std::string::npos) << lines;
  EXPECT_NE(lines.find("$.matrix[1].stop.ci: key 'ci' is there twice"), std::string::npos) << lines;
}

TEST(ScenarioErrors, AllProblemsComeAtOnceInTheOrderOfTheFile) {
  const auto problems = problems_of(R"({"plumbline": 1, "sed": 1, "roofs": 1,
      "config": {"chunk_byte": 1}, "probes": ["zzz"],
      "matrix": [{"op": "allredcue", "bytes": "64Q", "ranks": 0}, {"op": "reduce"}]})");
  ASSERT_EQ(problems.size(), 8u) << all_lines(problems);
  EXPECT_EQ(path_of(problems[0]), "$.sed");
  EXPECT_EQ(path_of(problems[1]), "$.roofs");
  EXPECT_EQ(path_of(problems[2]), "$.probes[0]");
  EXPECT_EQ(path_of(problems[3]), "$.matrix[0].op");
  EXPECT_EQ(path_of(problems[4]), "$.matrix[0].bytes");
  EXPECT_EQ(path_of(problems[5]), "$.matrix[0].ranks");
  EXPECT_EQ(path_of(problems[6]), "$.config.chunk_byte");
  EXPECT_EQ(path_of(problems[7]), "$.matrix[1]");
}

TEST(ScenarioErrors, AreBounded) {
  std::string blocks;
  for (int i = 0; i < 300; ++i) blocks += std::string(i == 0 ? "" : ",") + R"({"opp": 1})";
  const auto problems = problems_of(with_matrix(blocks));
  ASSERT_EQ(problems.size(), 51u);
  EXPECT_NE(problems.back().message.find("550 more problems"), std::string::npos)
      << problems.back().message;
}

TEST(ScenarioErrors, DeepNestingIsSurvived) {
  // Half a megabyte of brackets, closed and open, as value and inside an object.
  const std::string open(250'000, '['), close(250'000, ']');
  EXPECT_EQ(
      path_of(problems_of(R"({"plumbline": 1, "probes": ["ip"], "seed": )" + open + close + "}")
                  .front()),
      "$.seed");
  EXPECT_EQ(problems_of(open).front().where.rfind("test.json:1:", 0), 0u);
  std::string objects;
  for (int i = 0; i < 50'000; ++i) objects += R"({"a":)";
  objects += "1" + std::string(50'000, '}');
  EXPECT_EQ(
      path_of(
          problems_of(R"({"plumbline": 1, "probes": ["ip"], "launch": )" + objects + "}").front()),
      "$.launch.a");
}

TEST(ScenarioErrors, LongTextsAreCut) {
  const std::string word(100'000, 'x');
  for (const std::string& text :
       {with_matrix(R"({"op": ")" + word + R"(", "bytes": 8})"),
        R"({"plumbline": 1, "probes": ["ip"], ")" + word + R"(": 1})",
        R"({"plumbline": 1, "probes": ["ip"], "config": {")" + word + R"(": 1}})"}) {
    for (const ScenarioProblem& p : problems_of(text)) EXPECT_LT(to_line(p).size(), 400u);
  }
}

// Every prefix of a right scenario, and every text with one byte changed, gives an answer.
TEST(ScenarioErrors, TruncatedAndChangedTextsAreSurvived) {
  const std::string good = with_matrix(
      R"({"op": ["allreduce"], "bytes": {"from": 8, "to": "1Ki"}, "ranks": [2], "root": "all"})",
      R"(, "config": {"mesh": "lazy"}, "probes": [{"probe": "tcp.connect", "ports": [1]}])");
  ASSERT_TRUE(parse_scenario(good, "test.json", vocabulary()).has_value());
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    const auto cut = parse_scenario(good.substr(0, i), "test.json", vocabulary());
    EXPECT_FALSE(cut.has_value()) << good.substr(0, i);
    for (const char c : {'\0', '"', '{', ']', '9', '-', '\x80', 'z', ','}) {
      std::string changed = good;
      changed[i] = c;
      if (!parse_scenario(changed, "test.json", vocabulary())) ++refused;
    }
  }
  EXPECT_GT(refused, good.size() * 6);
}

}  // namespace
}  // namespace plumbline::scenario_test
