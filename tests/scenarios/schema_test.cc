// The JSON Schema as a second opinion: it accepts what the parser accepts and refuses what is wrong
// in itself, as far as a schema can say it. The published file is compared in tests/cli.
// clang-format off: valijson converts integers, so the checked conversions come first
#include "core/json.h"
// clang-format on

#include <cstdlib>
#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "scenarios/key_table.h"
#include "tests/scenarios/broken_samples.h"
#include "tests/scenarios/schema.h"
#include "tests/scenarios/support.h"
#include "tests/support/places.h"

namespace plumbline::scenario_test {
namespace {

using nlohmann::json;

class Schema {
 public:
  explicit Schema(const Vocabulary& vocabulary) {
    const json document = json::parse(scenario_docs::scenario_schema(vocabulary));
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            schema_);
  }
  bool accepts(const std::string& text) const {
    const json value = json::parse(text, nullptr, true, true);
    try {
      return validator_.validate(schema_, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
    } catch (const json::out_of_range&) {  // it asks for an int64_t whatever the number is
      return false;
    }
  }

 private:
  valijson::Schema schema_;
  // One for all: it keeps the patterns that it compiles, which takes most of the time.
  mutable valijson::Validator validator_{valijson::Validator::kStrongTypes};
};

// Of the names in the tables that both are given. What a schema cannot say stands beside each
// sample, with the reason.
TEST(ScenarioSchema, RefusesWhatPlanRefuses) {
  const Schema schema(vocabulary());
  for (const BrokenSample& sample : broken_samples()) {
    SCOPED_TRACE(sample.name);
    EXPECT_FALSE(parse_scenario(sample.text, "test.json", vocabulary()));
    EXPECT_EQ(schema.accepts(sample.text), sample.beyond != nullptr)
        << (sample.beyond == nullptr ? "" : sample.beyond);
  }
}

TEST(ScenarioSchema, WithAVocabularyItKnowsTheNames) {
  const Schema schema(vocabulary());
  EXPECT_TRUE(schema.accepts(R"({"plumbline": 1, "probes": ["tcp.connect"]})"));
  EXPECT_FALSE(schema.accepts(R"({"plumbline": 1, "probes": ["tcp.conect"]})"));
  EXPECT_TRUE(schema.accepts(with_matrix(R"({"op": "reduce", "bytes": 8, "algorithm": "all"})")));
  EXPECT_FALSE(
      schema.accepts(with_matrix(R"({"op": "reduce", "bytes": 8, "algorithm": "rings"})")));
}

TEST(ScenarioSchema, ShippedScenariosAreAccepted) {
  const std::string folder = test::source_dir() + "/scenarios";
  const Schema schema({});
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    EXPECT_TRUE(schema.accepts(read_file(entry.path().string())));
    ++seen;
  }
  EXPECT_GE(seen, 4);
}

// The other side: nothing that plan takes is refused.
TEST(ScenarioSchema, AcceptsWhatPlanAccepts) {
  const Schema named(vocabulary()), free({});
  const std::vector<std::string> hosts = {
      R"([{"name": "a", "local": false, "netns": "x", "user": "u", "speed": ""}])",
      R"([{"name": "a+b:c%2.d_e", "ssh": "user@h\u00e4l.local", "port": 22, "key": "~/k", "user": "u"}])",
      R"([{"name": "a", "local": true, "user": "", "data": ["10.0.0.1", "fd00::1/064"]},
          {"name": "b", "local": true, "data": "::ffff:10.0.0.2/128", "speed": "2.5Gbit"}])",
      R"([{"name": "a", "netns": "a", "rdma": [null, ["rdma_en4", "mlx5_0"]]},
          {"name": "b", "netns": "b", "rdma": ["ens4", null]}])",
      R"({"local": 3})"};
  for (const std::string& list : hosts) {
    SCOPED_TRACE(list);
    const std::string text = R"({"plumbline": 1, "probes": ["ip"], "hosts": )" + list + "}";
    parse(text);
    EXPECT_TRUE(named.accepts(text));
    EXPECT_TRUE(free.accepts(text));
  }
  for (
      const char* block : {
          R"({"op": "link"})",
          R"({"op": "endpoint", "url": "http://mini1:8080"})",
          R"({"kind": "endpoint", "op": "endpoint", "url": "http://[::1]:80/v1", "api": ["chat", "completions"],
              "answer": "whole", "max_tokens": [1, 64], "outstanding": [1, 8], "bytes": [0, "1Ki"], "ranks": 1,
              "model": ["a", "b"], "answer_has": "4", "key_from": "ENDPOINT_KEY_A", "time": "10s", "repeat": 2})",
          R"({"op": ["link"], "time": "1.m", "measure": ["udp"], "rate": ["1Kbit", "1000Gbit"]})",
          R"({"kind": "link", "op": "link", "bytes": {"from": 1, "to": "1Ki"}, "streams": [1, 2]})",
          R"({"op": ["barrier", "barrier"]})",
          R"({"kind": "throughput", "op": "barrier", "outstanding": 4, "time": ".5s"})",
          R"({"op": ["allreduce", "barrier"], "bytes": [0, 8], "sync": ["window", "none"]})",
          R"({"kind": "check", "op": "allreduce", "bytes": ".5Ki", "sync": "none"})",
          R"({"op": "allreduce", "bytes": {"from": 0, "to": 64, "step": "8"}})",
          R"({"op": "allreduce", "bytes": {"from": "1", "to": 64, "factor": 1.5}})",
          R"({"op": "pingpong", "bytes": 8, "ranks": [1, 2]})",
          R"({"op": ["allreduce", "allgather"], "bytes": 8, "algorithm": ["ring", "bruck"]})",
          R"({"op": ["allreduce", "allgather"], "bytes": 8, "algorithm": "ring"})",
          R"({"op": "allreduce", "bytes": 8, "stop": {"min_n": 5, "max_n": 20}})",
          R"({"op": "allreduce", "bytes": 8, "stop": {"max_n": 30, "max_time": "24h"}})",
          R"({"op": "allreduce", "bytes": 8, "config": {"chunk_bytes": "64Ki", "spin_us": 0}})",
      }) {
    SCOPED_TRACE(block);
    parse(with_matrix(block));
    EXPECT_TRUE(named.accepts(with_matrix(block)));
    EXPECT_TRUE(free.accepts(with_matrix(block)));
  }
  for (const char* rule :
       {R"({"wrong": 0})",
        R"({"where": {"op": "!=barrier", "bytes": ["64Ki..1Mi", 8]}, "p50": "<=1ms"})",
        R"({"where": {"config": {"spin_us": [0, 1]}}, "verdict": ["clean", "noisy"]})"}) {
    SCOPED_TRACE(rule);
    const std::string text =
        R"({"plumbline": 1, "probes": ["ip"], "expect": [)" + std::string(rule) + "]}";
    parse(text);
    EXPECT_TRUE(named.accepts(text));
  }
}

// An include may bring what there is to do.
TEST(ScenarioSchema, WhatIsIncludedMayBeAllThereIsToDo) {
  EXPECT_TRUE(Schema({}).accepts(R"({"plumbline": 1, "include": "quickstart.json"})"));
}

// Whatever stands as the value of an option: the schema takes what the option takes, and refuses
// what it refuses, but for bounds of numbers that stand as text, and for texts of real numbers and
// addresses, of which it sees the characters only.
TEST(ScenarioSchema, ValuesOfOptionsAsTheOptionsTakeThem) {
  const Schema schema(vocabulary());
  const std::vector<std::string> values = {"true",
                                           "false",
                                           "0",
                                           "1",
                                           "-1",
                                           "1.5",
                                           "4096",
                                           "70000",
                                           R"("on")",
                                           R"("OFF")",
                                           R"("Yes")",
                                           R"("auto")",
                                           R"("AUTO")",
                                           R"("tcp")",
                                           R"("Ring")",
                                           R"("64Ki")",
                                           R"("1e6")",
                                           R"("30s")",
                                           R"("500ms")",
                                           R"("12")",
                                           R"("lots")",
                                           R"("")",
                                           R"("10.0.0.1")",
                                           R"("fe80::1%en0")",
                                           R"("x y")",
                                           "[1]",
                                           "null",
                                           "{}"};
  size_t taken = 0;
  for (const OptionRow& row : option_table()) {
    for (const std::string& value : values) {
      const std::string text = R"({"plumbline": 1, "probes": ["ip"], "config": {")" +
                               std::string(row.name) + "\": " + value + "}}";
      SCOPED_TRACE(text);
      const bool by_plan = parse_scenario(text, "test.json", vocabulary()).has_value();
      taken += by_plan ? 1 : 0;
      const bool by_schema = schema.accepts(text);
      if (by_plan) {
        EXPECT_TRUE(by_schema);
      }
      const bool characters = row.type == OptionType::kAddress;
      if (!by_plan && (value.front() != '"' || value == R"("lots")") && !characters) {
        EXPECT_FALSE(by_schema);
      }
    }
  }
  EXPECT_GT(taken, 100U);
}

// TEST_UPDATE_GOLDEN=1 writes the generated part anew after a wanted change.
bool updating() { return std::getenv("TEST_UPDATE_GOLDEN") != nullptr; }

TEST(ScenarioFormatPage, ReferenceIsCurrent) {
  const std::string path = test::source_dir() + "/docs/scenario_format.md";
  std::string page = read_file(path);
  const std::string begin = "<!-- generated: scenario_reference_markdown() -->\n";
  const std::string end = "<!-- end of generated part -->";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  if (updating()) {
    page = page.substr(0, from + begin.size()) + scenario_docs::scenario_reference_markdown() +
           page.substr(to);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()),
            scenario_docs::scenario_reference_markdown())
      << "run with TEST_UPDATE_GOLDEN=1";
}

TEST(ScenarioFormatPage, ExampleIsRight) {
  const std::string page = read_file(test::source_dir() + "/docs/scenario_format.md");
  const std::string begin = "<!-- example -->\n```json\n";
  const size_t from = page.find(begin);
  ASSERT_NE(from, std::string::npos);
  const size_t start = from + begin.size();
  const std::string example = page.substr(start, page.find("```", start) - start);
  EXPECT_TRUE(Schema({}).accepts(example));
  EXPECT_FALSE(plan_of(parse(example)).cells.empty());
}

TEST(KeyTable, IsSound) {
  std::set<std::string> paths;
  for (const KeyRow& row : key_table()) {
    SCOPED_TRACE(row.path);
    EXPECT_TRUE(paths.insert(row.path).second) << "twice";
    EXPECT_TRUE(row.one != 0 || row.each != 0);
    EXPECT_GT(scenario_docs::help_of(row).size(), 10u);
    EXPECT_LE(row.min, row.max);
    EXPECT_TRUE(!row.required || std::string_view(row.fallback).empty());
    // Whoever holds this key is in the table too.
    const std::string path = row.path;
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) continue;
    std::string parent = path.substr(0, dot);
    if (parent.size() > 2 && parent.substr(parent.size() - 2) == "[]") {
      parent.resize(parent.size() - 2);
    }
    EXPECT_TRUE(paths.count(parent) == 1) << parent;
  }
  for (const RefusedKeyRow& row : refused_key_table()) EXPECT_EQ(paths.count(row.path), 0u);
}

}  // namespace
}  // namespace plumbline::scenario_test
