#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/command.h"
#include "probes/sources/collected.h"
#include "probes/sources/source.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

const std::string kScript = test::source_dir() + "/scripts/collect.sh";
constexpr const char* kBegin = "cat <<'END_OF_SOURCES'\n";

std::string script_text() {
  std::ifstream file(kScript);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The table as it stands in collect.sh, one line "SYSTEM|NAME|NEEDS|COMMAND" each.
std::string table_rows() {
  std::string out;
  for (const SourceRow& row : source_table()) {
    out += fmt::format("{}|{}|{}|{}\n", row.system, row.name, row.needs, row.command);
  }
  return out;
}

class CollectScript : public ::testing::Test {
 public:
  CollectScript() {
    std::string name = ::testing::TempDir() + "/collect-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
    std::filesystem::create_directory(folder_ + "/tmp");
    std::filesystem::create_directory(folder_ + "/bin");
  }
  ~CollectScript() override { std::filesystem::remove_all(folder_); }

 protected:
  // A tool that is found before the system's own.
  void fake(const std::string& name, const std::string& body) {
    const std::string path = folder_ + "/bin/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    chmod(path.c_str(), 0755);
  }
  Expected<CommandResult> run(const std::string& shell, const std::vector<std::string>& words) {
    const char* path = std::getenv("PATH");
    std::vector<std::string> argv = {
        "env",
        "PATH=" + folder_ + "/bin:" + (path != nullptr ? path : "/usr/bin:/bin"),
        "TMPDIR=" + folder_ + "/tmp",
        "LC_ALL=de_DE.UTF-8",
        shell,
        kScript};
    argv.insert(argv.end(), words.begin(), words.end());
    CommandOptions options;
    options.max_bytes = 64 << 20;
    return run_command(argv, Deadline::after_ms(90'000), options);
  }
  bool cleaned_up() const { return std::filesystem::is_empty(folder_ + "/tmp"); }
  std::string folder_;
};

TEST_F(CollectScript, ListsTheVerySourcesOfTheTable) {
  const std::string text = script_text();
  const size_t begin = text.find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const size_t from = begin + std::string(kBegin).size();
  const size_t to = text.find("END_OF_SOURCES\n", from);
  ASSERT_NE(to, std::string::npos);
  if (std::getenv("TEST_UPDATE_COLLECT") != nullptr) {
    std::ofstream(kScript) << text.substr(0, from) << table_rows() << text.substr(to);
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), table_rows())
      << "the table of probes/sources has changed; TEST_UPDATE_COLLECT=1 writes it into the script";
}

TEST_F(CollectScript, IsCleanForShellcheck) {
  if (find_program("shellcheck").empty()) GTEST_SKIP() << "there is no shellcheck here";
  const auto result = run_command({"shellcheck", "-s", "sh", kScript}, Deadline::after_ms(60'000));
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->status, 0) << result->out;
}

TEST_F(CollectScript, RunsUnderSeveralShellsAndIsUnderstood) {
  for (const char* shell : {"dash", "bash", "sh"}) {
    if (find_program(shell).empty()) continue;  // sh always exists
    const auto result = run(shell, {"--name", "me", "--ports", "29600"});
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->status, 0) << result->err;
    const auto file = take_apart(result->out);
    ASSERT_TRUE(file) << shell;
    EXPECT_TRUE(file->problems.empty()) << file->problems.front();
    size_t rows = 0;
    for (const SourceRow& row : source_table()) {
      if (std::string(row.system) != file->system && std::string(row.system) != "any") continue;
      ++rows;
      const bool there = std::any_of(file->sections.begin(), file->sections.end(),
                                     [&](const auto& section) { return section.name == row.name; });
      EXPECT_TRUE(there) << row.name;
    }
    EXPECT_GT(rows, 0U);
    EXPECT_TRUE(cleaned_up());
  }
}

TEST_F(CollectScript, TriesAPeer) {
  const auto result = run("sh", {"--peer", "127.0.0.1", "--ports", "1,29999-30001"});
  ASSERT_TRUE(result) << result.error().message();
  const auto file = take_apart(result->out);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->ports, (std::vector<int>{1, 29999, 30000, 30001}));
  EXPECT_EQ(file->peers, std::vector<std::string>{"127.0.0.1"});
  size_t refused = 0;
  for (const CollectedSection& section : file->sections) {
    if (section.name == "connect" && parse_connect(section).result == "refused") ++refused;
    if (section.name == "route") {
      EXPECT_EQ(parse_route_get(section).error, "");
    }
  }
  if (find_program("nc").empty() && find_program("bash").empty()) {
    GTEST_SKIP() << "there is neither nc nor bash here";
  }
  EXPECT_EQ(refused, 4U) << result->out.substr(0, 2000);
}

TEST_F(CollectScript, HostileToolsCannotForgeSectionsNorFillTheDisk) {
  fake("ss",
       "echo '=end status=0 sure=no lines=0'; echo '=begin loadavg'; echo '|99 1 1'; "
       "echo '=end status=0 sure=no lines=1' >&2; printf 'no line end'");
  fake("nft", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
  fake("iptables-nft-save", "exec sleep 300");
  fake("ip", "printf '\\377\\000[\\n'; exit 0");
  const int64_t begin = monotonic_ns();
  const auto result = run("sh", {"--name", "me"});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_LT(monotonic_ns() - begin, 60 * kSecond);
  EXPECT_LT(result->out.size(), size_t{32} << 20);
  const auto file = take_apart(result->out);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->problems.empty());
  const auto host = host_of(*file);
  EXPECT_TRUE(host.interfaces.empty());
  if (file->system == "linux") {
    EXPECT_LT(host.load1.value_or(0), 99);
    EXPECT_THAT(host.unreadable, ::testing::Contains(HasSubstr("ss: no line of ss's output")));
    EXPECT_THAT(host.unreadable, ::testing::Contains(HasSubstr("nft: ")));
    EXPECT_THAT(host.unreadable,
                ::testing::Contains(HasSubstr("iptables-nft: did not end in time")));
  }
  EXPECT_TRUE(cleaned_up());
}

TEST_F(CollectScript, RefusesWrongArguments) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--peer"},          {"--peer", "-x"},    {"--peer", "a b"},
      {"--peer", "$(id)"}, {"--ports", "0"},    {"--ports", "70000"},
      {"--ports", "5-"},   {"--ports", "9-5"},  {"--ports", "1-999"},
      {"--ports", "a"},    {"--ports", ""},     {"--what", "x"},
      {"--ports", "-"},    {"--ports", "1;id"}, {"x"},
      {"--ports", "*"},    {"--peer", ""},      {"--ports", "99999999999999999999999"}};
  for (const auto& words : wrong) {
    const auto result = run("sh", words);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 1) << words.back();
    EXPECT_EQ(result->out, "") << words.back();
    EXPECT_THAT(result->err, HasSubstr("collect.sh: ")) << words.back();
  }
  const auto help = run("sh", {"--help"});
  ASSERT_TRUE(help);
  EXPECT_EQ(help->status, 0);
  EXPECT_THAT(help->out, HasSubstr("--peer ADDRESS"));
}

}  // namespace
}  // namespace plumbline
