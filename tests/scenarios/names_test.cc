// Names of hosts and scenarios have a grammar; a wrong one is told with the place of its key.
#include <gmock/gmock.h>

#include "core/file.h"
#include "scenarios/host_files/host_file.h"
#include "scenarios/host_words.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kBad = {"",
                                       "a b",
                                       "a/b",
                                       "../x",
                                       "-x",
                                       ".x",
                                       "a\x1b",
                                       "a\n",
                                       "a;b",
                                       "$(x)",
                                       "a\x7f",
                                       "\xC2\x9B",
                                       "\xE2\x80\xAE\x61",
                                       "gr\xC3\xB6\xC3\x9F\x65",
                                       "a>b",
                                       "a#b",
                                       "a\\",
                                       std::string(101, 'a')};

std::string quoted(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      char text[8];
      std::snprintf(text, sizeof text, "\\u%04x", byte);
      out += text;
    } else {
      out += (c == '\\' || c == '"') ? std::string("\\") + c : std::string(1, c);
    }
  }
  return "\"" + out + "\"";
}

std::string one_problem(const std::string& hosts) {
  const auto scenario = parse_scenario(
      R"({"plumbline": 1, "probes": ["ip"], "hosts": )" + hosts + "}", "s.json", vocabulary());
  if (scenario) return {};
  EXPECT_EQ(scenario.error().size(), 1u) << to_line(scenario.error().back());
  return to_line(scenario.error().front());
}

TEST(Names, OfHostsHaveAGrammar) {
  for (const char* name :
       {"a", "mini1.local", "node-07", "h_1", "fd00::1", "fe80::1%en0", "7", "a+b"}) {
    EXPECT_EQ(host_name_problem(name), "");
    EXPECT_EQ(one_problem("[{\"name\": " + quoted(name) + ", \"local\": true}]"), "");
  }
  for (const std::string& name : kBad) {
    EXPECT_NE(host_name_problem(name), "") << name;
    const std::string said = one_problem(
        "[{\"name\": \"a\", \"local\": true}, {\"name\": " + quoted(name) + ", \"local\": true}]");
    EXPECT_THAT(said, HasSubstr("$.hosts[1].name: ")) << name;
    EXPECT_EQ(said.find_first_of("\x1b\n\x7f\xC2\xE2"), std::string::npos) << said;
  }
}

TEST(Names, OfHostsHaveItInEveryFormat) {
  for (const char* destination : {"me@a/b", "a$(x)", "a\u202eb"}) {
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "hosts.json").string();
    std::ofstream(path) << "[{\"ssh\": \"" << destination << "\", \"ips\": [\"10.0.0.1\"]}, "
                        << R"({"ssh": "b", "ips": ["10.0.0.2"]}])";
    const auto file = load_host_file(path);
    ASSERT_FALSE(file) << destination;
    EXPECT_THAT(to_line(file.error().front()), HasSubstr("$[0]")) << destination;
  }
}

TEST(Names, OfScenariosHaveAGrammar) {
  const auto problem_of = [](const std::string& file) -> std::string {
    const auto scenario =
        parse_scenario(R"({"plumbline": 1, "probes": ["ip"]})", file, vocabulary());
    return scenario ? "" : to_line(scenario.error().front());
  };
  for (const char* good : {"s.json", "dir/My test (2).json", "gr\xC3\xB6\xC3\x9F\x65.json", ""}) {
    EXPECT_EQ(problem_of(good), "");
  }
  for (const char* bad : {"a\x1b[2J.json", "a\n.json", "\xE2\x80\xAE.json", "\xFF.json", "a:b.json",
                          "a\\b.json", "a*.json", "\xC2\x9B.json"}) {
    EXPECT_THAT(problem_of(bad), HasSubstr("$: the file's name is the scenario's")) << bad;
  }
  EXPECT_THAT(problem_of(std::string(101, 'x') + ".json"), HasSubstr("longer than"));
}

}  // namespace
}  // namespace plumbline::scenario_test
