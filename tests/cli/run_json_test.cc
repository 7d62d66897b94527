// `run --json`: one object on standard output, whatever becomes of the run.

#include <gmock/gmock.h>

#include <filesystem>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kSmallJson = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"kind": "check", "op": "allreduce", "bytes": [1000, 2000]}],
  "report": ["console", "markdown"], "expect": [{"wrong": 0}]})";

TEST(RunJson, IsOneObjectThatSaysHowTheRunEnded) {
  const ScratchFolder folder;
  const std::string out = folder.path("out");
  const Finished done = run_program(
      plumbline_argv({"run", folder.write("small.json", kSmallJson), "-o", out, "--json"}));
  EXPECT_EQ(done.status, 0) << done.err;
  const json object = json::parse(done.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << done.out;
  EXPECT_EQ(object["schema"], 1);
  EXPECT_EQ(object["scenario"], "small");
  EXPECT_EQ(object["state"], "finished");
  EXPECT_EQ(object["exit_code"], 0);
  EXPECT_EQ(object["planned"], 2);
  EXPECT_EQ(object["measured"], 2);
  EXPECT_EQ(object["passed"], 2);
  EXPECT_EQ(object["wrong"], 0);
  ASSERT_EQ(object["rules"].size(), 1u);
  EXPECT_EQ(object["rules"][0]["passed"], true);
  EXPECT_EQ(object["records"], out + "/records.jsonl");
  ASSERT_EQ(object["reports"].size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(object["reports"][0].get<std::string>()));
  const std::string lines = read_file(out + "/records.jsonl");
  EXPECT_THAT(lines, HasSubstr("\"run_id\":" + object["run_id"].dump()));
}

TEST(RunJson, TellsBrokenRulesByTheExitCodeToo) {
  const ScratchFolder folder;
  std::string text = kSmallJson;
  text.replace(text.find(R"({"wrong": 0})"), 12, R"({"wrong": ">=1"})");
  const Finished done = run_program(plumbline_argv(
      {"run", folder.write("small.json", text), "-o", folder.path("out"), "--json", "-q"}));
  const json object = json::parse(done.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << done.out << done.err;
  EXPECT_EQ(done.status, 4) << done.err;
  EXPECT_EQ(object["exit_code"], 4);
  EXPECT_EQ(object["rules"][0]["passed"], false);
  EXPECT_FALSE(object["rules"][0]["failed"].empty());
}

TEST(RunJson, MistakesLeaveStandardOutputEmpty) {
  const ScratchFolder folder;
  const std::string small = folder.write("small.json", kSmallJson);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", folder.path("none.json"), "--json"},
        {"run", small, "--json", "--dry-run"},
        {"run", small, small, "--json", "--interleave"}}) {
    const Finished done = run_program(plumbline_argv(words));
    EXPECT_EQ(done.status, 1) << testing::PrintToString(words) << done.err;
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(run_program(plumbline_argv({"run", small, "--json", "--dry-run"})).err,
              HasSubstr("plumbline plan --json"));
}

}  // namespace
}  // namespace plumbline
