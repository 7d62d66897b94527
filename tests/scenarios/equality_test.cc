// What scenarios say of packages and files that all hosts must have: what is refused before
// anything is asked.
#include <gmock/gmock.h>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using ::testing::HasSubstr;

std::string equality_refusal(const std::string& probe) {
  const auto scenario =
      parse_scenario(R"({"plumbline": 1, "probes": [)" + probe + "]}", "test.json", vocabulary());
  return scenario ? std::string() : all_lines(scenario.error());
}

TEST(EqualityProbes, PathsAndPackagesAsOneTextOrAsAList) {
  const Scenario scenario = parse(R"({"plumbline": 1, "probes": ["artifact",
      {"probe": "artifact", "path": ["/models/a", "~/models/b"]},
      {"probe": "software", "packages": ["mlx", "mlx-lm"], "python": "~/v/bin/python"}]})");
  ASSERT_EQ(scenario.probes.size(), 3U);
  EXPECT_EQ(scenario.probes[1].params.at("path"), "/models/a,~/models/b");
  EXPECT_EQ(scenario.probes[2].params.at("packages"), "mlx,mlx-lm");
}

TEST(EqualityProbes, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(equality_refusal(R"({"probe": "artifact", "path": "models/a"})"),
              HasSubstr("no absolute path"));
  EXPECT_THAT(equality_refusal(R"({"probe": "artifact", "path": "/a,b"})"),
              HasSubstr("no absolute path"));
  EXPECT_THAT(equality_refusal(R"({"probe": "artifact", "path": "/a\u001bb"})"),
              HasSubstr("cannot be shown"));
  EXPECT_THAT(equality_refusal(R"({"probe": "artifact", "paht": "/a"})"), HasSubstr("path"));
  EXPECT_THAT(equality_refusal(R"({"probe": "software", "packages": "mlx,--pre"})"),
              HasSubstr("no name of a Python package"));
  EXPECT_THAT(equality_refusal(R"({"probe": "software", "python": "python3.12"})"),
              HasSubstr("no absolute path"));
  std::string many = R"({"probe": "artifact", "path": "/a)";
  for (int i = 0; i < 32; ++i) many += ",/a";
  EXPECT_THAT(equality_refusal(many + "\"}"), HasSubstr("more than 32"));
}

}  // namespace
}  // namespace plumbline::scenario_test
