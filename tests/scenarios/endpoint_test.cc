// Blocks and probes that ask a server of language models: what they become, and what is refused
// before anything starts.
#include <gmock/gmock.h>

#include <set>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal_of(const std::string& text) {
  const auto scenario = parse_scenario(text, "test.json", vocabulary());
  EXPECT_FALSE(scenario) << text;
  return scenario ? std::string() : all_lines(scenario.error());
}
std::string block_refusal(const std::string& keys) {
  return refusal_of(with_matrix(R"({"op": "endpoint")" + keys + "}"));
}
std::string probe_refusal(const std::string& params) {
  return refusal_of(R"({"plumbline": 1, "probes": [{"probe": "endpoint")" + params + "}]}");
}

TEST(EndpointBlocks, EachAxisIsOneOfTheCells) {
  const Plan plan = plan_of(parse(with_matrix(
      R"({"op": "endpoint", "url": "http://mini1:8080", "api": ["chat", "completions"],
          "answer": ["stream", "whole"], "outstanding": [1, 2, 4], "max_tokens": [16, 32],
          "bytes": [0, 1000], "model": ["a", "b"], "repeat": 2, "key_from": "ENDPOINT_KEY_A"})")));
  EXPECT_EQ(plan.cells.size(), 2U * 2 * 3 * 2 * 2 * 2 * 2);
  std::set<std::string> ids;
  for (const PlanCell& planned : plan.cells) {
    ids.insert(planned.id);
    EXPECT_EQ(planned.cell.kind, CellKind::kEndpoint);
    EXPECT_EQ(planned.cell.ranks, 1);
    EXPECT_EQ(planned.cell.key_from, "ENDPOINT_KEY_A");
    EXPECT_EQ(planned.throughput_time_ns, 10'000'000'000);
    EXPECT_EQ(planned.skip, "");
  }
  EXPECT_EQ(ids.size(), plan.cells.size());
}

TEST(EndpointBlocks, OneRankAsksWhicheverHostsThereAre) {
  const Plan plan = plan_of(parse(R"({"plumbline": 1, "hosts": {"local": 3}, "matrix": [
      {"kind": "endpoint", "op": "endpoint", "url": "http://a", "hosts": [["local1"], 1]}]})"));
  ASSERT_EQ(plan.cells.size(), 2U);
  for (const PlanCell& planned : plan.cells) EXPECT_EQ(planned.cell.ranks, 1);
}

TEST(EndpointBlocks, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(block_refusal(""), HasSubstr("needs 'url'"));
  EXPECT_THAT(block_refusal(R"(, "url": "https://a")"), HasSubstr("local proxy"));
  EXPECT_THAT(block_refusal(R"(, "url": "a:8080")"), HasSubstr("http://"));
  EXPECT_THAT(block_refusal(R"(, "url": 8080)"), HasSubstr("url"));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "ranks": 2)"), HasSubstr("one rank asks"));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "api": "embeddings")"), HasSubstr("chat"));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "max_tokens": 0)"), HasSubstr("max_tokens"));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "bytes": "2Mi")"), HasSubstr("1 MiB"));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "dtype": "f32")"), HasSubstr("'dtype'"));
  EXPECT_THAT(refusal_of(with_matrix(R"({"op": "allreduce", "bytes": 8, "url": "http://a"})")),
              HasSubstr("it belongs to endpoint"));
  EXPECT_THAT(refusal_of(with_matrix(
                  R"({"kind": "endpoint", "op": "allreduce", "bytes": 8, "url": "http://a"})")),
              HasSubstr("nothing else"));
}

TEST(EndpointBlocks, AKeyInTheWrongPlaceIsNotShown) {
  const auto hidden = AllOf(HasSubstr("key_from"), Not(HasSubstr("sk-s3cret")));
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "key_from": "sk-s3cret")"), hidden);
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a", "key_from": "sk-s3cret")"), hidden);
  // Nor does a stranger's scenario get at what other programs keep in their variables.
  EXPECT_THAT(block_refusal(R"(, "url": "http://a", "key_from": "AWS_SECRET_ACCESS_KEY")"), hidden);
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a", "key_from": "HOME")"), hidden);
  EXPECT_THAT(block_refusal(R"(, "url": "http://me:sk-s3cret@a")"), Not(HasSubstr("sk-s3cret")));
}

TEST(EndpointProbes, NeedAUrlAndASoundTime) {
  EXPECT_THAT(probe_refusal(""), HasSubstr("needs 'url'"));
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a:99999")"), HasSubstr("no port"));
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a", "silence": 0)"), HasSubstr("1 to 600"));
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a", "silence": "soon")"), HasSubstr("1 to 600"));
  EXPECT_THAT(probe_refusal(R"(, "url": "http://a", "modell": "x")"), HasSubstr("model"));
  const Scenario scenario = parse(
      R"({"plumbline": 1, "probes": [{"probe": "endpoint", "url": "http://a", "silence": 60}]})");
  EXPECT_EQ(scenario.probes.at(0).params.at("silence"), "60");
}

}  // namespace
}  // namespace plumbline::scenario_test
