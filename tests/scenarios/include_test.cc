// Reading files: those that cannot be read, and those that include others.
#include <sys/stat.h>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

std::string failure(const std::string& path) {
  const auto scenario = load_scenario(path, vocabulary());
  EXPECT_FALSE(scenario) << path;
  return scenario ? std::string() : all_lines(scenario.error());
}

constexpr const char* kBase = R"({"plumbline": 1, "question": "base", "seed": 5,
  "hosts": {"local": 4}, "config": {"mesh": "lazy", "spin_us": 7},
  "launch": {"port_base": 30000, "master_port": 29999},
  "matrix": [{"op": "barrier"}, {"op": "reduce", "bytes": 8}]})";

TEST(ScenarioFile, NameIsTheFileWithoutFolderAndEnding) {
  const TempFolder folder;
  const auto s = load_scenario(folder.write("my.test.json", kBase), vocabulary());
  ASSERT_TRUE(s) << all_lines(s.error());
  EXPECT_EQ(s->name, "my.test");
  EXPECT_EQ(s->file, folder.path("my.test.json"));
}

TEST(ScenarioFile, UnreadableFilesAreNamed) {
  const TempFolder folder;
  EXPECT_NE(failure(folder.path("none.json")).find("ENOENT"), std::string::npos);
  EXPECT_NE(failure(folder.path("")).find("EISDIR"), std::string::npos);
  folder.write("plain", "x");
  EXPECT_NE(failure(folder.path("plain/x.json")).find("ENOTDIR"), std::string::npos);
  EXPECT_NE(failure(folder.write("empty.json", "")).find("empty.json:1:1"), std::string::npos);
  EXPECT_NE(failure(folder.write("huge.json", std::string((1u << 20) + 1, ' ')))
                .find("larger than 1 MiB"),
            std::string::npos);
  // A pipe that nobody writes must not hang the program.
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_NE(failure(folder.path("fifo")).find("is a pipe"), std::string::npos);
}

// `run` keeps it beside the records: as it was written, where it means the same in any folder.
TEST(ScenarioFile, TheTextIsKept) {
  const TempFolder folder;
  const std::string commented = std::string("// why\n") + kBase;
  const auto s = load_scenario(folder.write("a.json", commented), vocabulary());
  ASSERT_TRUE(s) << all_lines(s.error());
  EXPECT_EQ(s->text, commented);
}

TEST(ScenarioInclude, TheTextThatIsKeptNeedsNoOtherFile) {
  const TempFolder folder, elsewhere;
  folder.write("base.json", kBase);
  folder.write("hosts.json",
               R"({"hosts": [{"name": "a", "local": true, "data": ["127.0.0.1/8"]}]})");
  const auto s = load_scenario(
      folder.write("top.json", R"({"plumbline": 1, "include": "base.json", "question": "top",
        "hosts": {"hostfile": "hosts.json"}, "matrix": [{"op": "barrier", "ranks": 1}]})"),
      vocabulary());
  ASSERT_TRUE(s) << all_lines(s.error());
  const auto again = load_scenario(elsewhere.write("kept.json", s->text), vocabulary());
  ASSERT_TRUE(again) << all_lines(again.error());
  EXPECT_EQ(again->question, "top");
  EXPECT_EQ(again->seed, 5u);
  ASSERT_EQ(again->hosts.size(), 1u);
  EXPECT_EQ(again->hosts[0].name, "a");
  EXPECT_EQ(again->matrix.size(), 1u);
  EXPECT_EQ(again->text, s->text);
}

TEST(ScenarioInclude, KeysAreReplacedAndMapsJoined) {
  const TempFolder folder;
  folder.write("base.json", kBase);
  const auto s = load_scenario(
      folder.write("top.json", R"({"plumbline": 1, "include": "base.json", "question": "top",
        "config": {"spin_us": 9, "fast_math": true}, "launch": {"port_base": 31000},
        "matrix": [{"op": "allreduce", "bytes": 8}]})"),
      vocabulary());
  ASSERT_TRUE(s) << all_lines(s.error());
  EXPECT_EQ(s->question, "top");
  EXPECT_EQ(s->name, "top");
  EXPECT_EQ(s->seed, 5u);
  EXPECT_EQ(s->hosts.size(), 4u);
  EXPECT_EQ(s->config, (std::map<std::string, std::string>{{"fast_math", "on"},
                                                           {"master_port", "29999"},
                                                           {"mesh", "lazy"},
                                                           {"port_base", "31000"},
                                                           {"spin_us", "9"}}));
  ASSERT_EQ(s->matrix.size(), 1u);
  EXPECT_EQ(s->matrix[0].op, std::vector<std::string>{"allreduce"});
}

TEST(ScenarioInclude, ListsAndFolders) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("base.json", kBase);
  folder.write("sub/one.json", R"({"plumbline": 1, "include": "../base.json", "seed": 6})");
  folder.write("sub/two.json", R"({"plumbline": 1, "seed": 7, "roofs": false})");
  const auto s = load_scenario(
      folder.write("top.json", R"({"plumbline": 1, "include": ["sub/two.json", "sub/one.json"]})"),
      vocabulary());
  ASSERT_TRUE(s) << all_lines(s.error());
  EXPECT_EQ(s->seed, 6u);  // the later file wins
  EXPECT_FALSE(s->roofs);
  EXPECT_EQ(s->matrix.size(), 2u);
}

TEST(ScenarioInclude, CirclesAreRefused) {
  const TempFolder folder;
  folder.write("a.json", R"({"plumbline": 1, "include": "b.json"})");
  folder.write("b.json", R"({"plumbline": 1, "include": "./a.json"})");
  EXPECT_NE(failure(folder.path("a.json")).find("includes itself"), std::string::npos);
  EXPECT_NE(failure(folder.write("me.json", R"({"plumbline": 1, "include": "me.json"})"))
                .find("includes itself"),
            std::string::npos);
  // Twice the same file, but no circle.
  folder.write("base.json", kBase);
  EXPECT_TRUE(load_scenario(
      folder.write("twice.json", R"({"plumbline": 1, "include": ["base.json", "base.json"]})"),
      vocabulary()));
}

TEST(ScenarioInclude, ChainsAreBounded) {
  const TempFolder folder;
  folder.write("f0.json", kBase);
  for (int i = 1; i <= 20; ++i) {
    folder.write("f" + std::to_string(i) + ".json",
                 R"({"plumbline": 1, "include": "f)" + std::to_string(i - 1) + R"(.json"})");
  }
  EXPECT_TRUE(load_scenario(folder.path("f8.json"), vocabulary()));
  EXPECT_NE(failure(folder.path("f20.json")).find("8 deep"), std::string::npos);
}

TEST(ScenarioInclude, ProblemsNameTheIncludedFile) {
  const TempFolder folder;
  folder.write("bad.json", R"({"plumbline": 1, "sed": 3})");
  const std::string lines =
      failure(folder.write("top.json", R"({"plumbline": 1, "include": "bad.json", "rofs": true,
                                           "probes": ["ip"]})"));
  EXPECT_NE(lines.find(folder.path("bad.json") + ":1:18: $.sed: unknown key"), std::string::npos)
      << lines;
  EXPECT_NE(lines.find("$.rofs: unknown key"), std::string::npos) << lines;

  folder.write("syntax.json", "{\n\n oops}");
  EXPECT_NE(failure(folder.write("top2.json", R"({"plumbline": 1, "include": "syntax.json"})"))
                .find(folder.path("syntax.json") + ":3:2"),
            std::string::npos);
  EXPECT_NE(failure(folder.write("top3.json", R"({"plumbline": 1, "include": "gone.json"})"))
                .find("$.include: cannot open"),
            std::string::npos);
}

}  // namespace
}  // namespace plumbline::scenario_test
