// What a scenario may have started on hosts, and what it may not.
#include <gmock/gmock.h>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Vocabulary with_commands() {
  Vocabulary v = vocabulary();
  Descriptor command = named("command");
  command.params = {{"run", "text", "", "", ""}, {"match", "text", "", "", ""}};
  v.probes.push_back(command);
  v.transport_unsupported = [](const std::string& name) {
    return name == "memory" ? std::string("threads of one process only") : std::string();
  };
  return v;
}

auto parsed(const std::string& text) { return parse_scenario(text, "s.json", with_commands()); }

auto with_probe(const std::string& probe) {
  return parsed(R"({"plumbline": 1, "probes": [)" + probe + "]}");
}

std::string problem(const std::string& text) {
  const auto scenario = parsed(text);
  return scenario ? "" : all_lines(scenario.error());
}

TEST(ScenarioPrograms, ACommandIsSplitWhereItIsParsedAsTextOrAsAList) {
  const std::pair<const char*, Words> cases[] = {
      {R"("uname -r")", {"uname", "-r"}},
      {R"(["uname", "-r"])", {"uname", "-r"}},
      {R"("sh -c 'echo a; echo b'")", {"sh", "-c", "echo a; echo b"}},
      {R"(["sh", "-c", "echo a; echo b", ""])", {"sh", "-c", "echo a; echo b", ""}},
      {R"(["a  b", "$HOME", "*"])", {"a  b", "$HOME", "*"}},
      {R"(["sleep", 5])", {"sleep", "5"}},
  };
  for (const auto& [run, words] : cases) {
    const auto scenario =
        with_probe(std::string(R"({"probe": "command", "run": )") + run + R"(, "match": "x"})");
    ASSERT_TRUE(scenario) << all_lines(scenario.error());
    EXPECT_EQ(scenario->probes.at(0).command, words) << run;
    EXPECT_EQ(scenario->probes.at(0).params.at("match"), "x");
  }
  // Written as a list or as a text, it is called the same.
  EXPECT_EQ(with_probe(R"({"probe": "command", "run": "uname -r"})")->probes[0].params.at("run"),
            "uname -r");
  EXPECT_EQ(
      with_probe(R"({"probe": "command", "run": ["uname", "-r"]})")->probes[0].params.at("run"),
      "uname -r");
}

TEST(ScenarioPrograms, ACommandThatNeedsAShellOrIsNoneIsRefused) {
  for (const char* run : {"ls | wc", "a; b", "a > b", "$(a)", "'a"}) {
    const std::string lines =
        problem(R"({"plumbline": 1, "probes": [{"probe": "command", "run": ")" + std::string(run) +
                "\"}]}");
    EXPECT_THAT(lines, HasSubstr("$.probes[0].run")) << run;
    EXPECT_THAT(lines, HasSubstr("without a shell")) << run;
  }
  for (const char* probe :
       {R"("command")", R"({"probe": "command"})", R"({"probe": "command", "run": [""]})"}) {
    EXPECT_THAT(problem(R"({"plumbline": 1, "probes": [)" + std::string(probe) + "]}"),
                HasSubstr("$.probes[0]: the probe 'command' needs 'run'"))
        << probe;
  }
  EXPECT_THAT(problem(R"({"plumbline": 1, "probes": [{"probe": "command", "run": ["a\u0000b"]}]})"),
              HasSubstr("zero byte"));
}

TEST(ScenarioPrograms, OptionsThatDecideWhatIsStartedAreNoScenarios) {
  for (const char* option : {"ssh_config", "static_dir", "push"}) {
    const std::string value = std::string(option) == "push" ? "auto" : "/tmp/x";
    const std::string own = problem(R"({"plumbline": 1, "config": {")" + std::string(option) +
                                    R"(": ")" + value + R"("}, "matrix": [{"op": "barrier"}]})");
    EXPECT_THAT(own, HasSubstr("$.config." + std::string(option)));
    EXPECT_THAT(own, HasSubstr("no scenario may set it"));
    EXPECT_THAT(own, HasSubstr("PLUMBLINE_"));
    const std::string block =
        problem(R"({"plumbline": 1, "matrix": [{"op": "barrier", "config": {")" +
                std::string(option) + R"(": ")" + value + R"("}}]})");
    EXPECT_THAT(block, HasSubstr("$.matrix[0].config." + std::string(option)));
  }
}

TEST(ScenarioPrograms, OptionsThatAreRefusedAreSoInAnIncludedFileToo) {
  const TempFolder folder;
  folder.write("base.json", R"({"plumbline": 1, "config": {"ssh_config": "x"}})");
  const auto scenario = load_scenario(
      folder.write("top.json",
                   R"({"plumbline": 1, "include": "base.json", "matrix": [{"op": "barrier"}]})"),
      with_commands());
  ASSERT_FALSE(scenario);
  EXPECT_THAT(all_lines(scenario.error()), HasSubstr("$.config.ssh_config"));
}

// It ran over TCP, and the record said memory.
TEST(ScenarioPrograms, ATransportThatRanksCannotUseIsRefusedByName) {
  for (const char* transport : {R"("memory")", R"(["memory"])", R"(["tcp", "memory"])"}) {
    const std::string lines =
        problem(R"({"plumbline": 1, "matrix": [{"op": "barrier", "transport": )" +
                std::string(transport) + "}]}");
    EXPECT_THAT(lines, HasSubstr("$.matrix[0].transport: transport 'memory': threads of one"));
  }
  EXPECT_THAT(problem(R"({"plumbline": 1, "config": {"transport": "memory"},
                          "matrix": [{"op": "barrier"}]})"),
              HasSubstr("$.config.transport: transport 'memory'"));
  EXPECT_EQ(problem(R"({"plumbline": 1, "config": {"transport": "tcp"},
                        "matrix": [{"op": "barrier", "transport": ["auto", "tcp"]}]})"),
            "");
}

}  // namespace
}  // namespace plumbline::scenario_test
