// A command line or a file that is wrong is told in words of ours, files with their line.
#include <gmock/gmock.h>

#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UsageWords, ACommandLineIsJudgedInWordsOfOurs) {
  const struct {
    std::vector<std::string> words;
    const char* said;
  } cases[] = {
      {{"plan", "smoke", "--frobnicate"}, "no argument or flag of this command: --frobnicate"},
      {{"config", "smoke", "two"}, "no argument or flag of this command: two"},
      {{"run"}, "scenario is missing"},
      {{"run", "smoke", "--out"}, "--out needs a value"},
      {{"frobnicate"}, "there is no command 'frobnicate'"},
  };
  for (const auto& one : cases) {
    const Finished done = run_program(plumbline_argv(one.words));
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr(one.said));
    for (const char* word : {"was not expected", "were not expected", "is required", " required ",
                             "TEXT", "Error", "subcommand"}) {
      EXPECT_THAT(done.err, Not(HasSubstr(word)));
    }
  }
}

TEST(UsageWords, FilesAreNamedWithTheLineByEveryCommandThatReadsThem) {
  const ScratchFolder folder;
  folder.write("s.json", "{\n \"plumbline\": 1,\n \"probes\": [\"ip\"\n \"host\"]\n}\n");
  folder.write("h.json", "{\"hosts\": [\n {\"name\": \"a\", \"ssh\": \"a\", \"dataa\": 1}]}\n");
  folder.write("lab.json", "{\n \"plumbline_lab\": 1,\n \"mtu\": 5\n}\n");
  folder.write("r.json", "{\n \"plumbline_rules\": 1,\n \"expect\": [\n  {\"p5\": \"<1ms\"}]}\n");
  const struct {
    std::vector<std::string> words;
    const char* said;
  } cases[] = {
      {{"plan", folder.path("s.json")}, "s.json:4:2: a comma is missing after \"ip\" on line 3"},
      {{"run", folder.path("s.json")}, "s.json:4:2: a comma is missing"},
      {{"hosts", "check", folder.path("h.json")}, "h.json:2:28: $.hosts[0].dataa: unknown key"},
      {{"doctor", "--hosts", folder.path("h.json")}, "h.json:2:28: $.hosts[0].dataa"},
      {{"stop", "--hosts", folder.path("h.json"), "--list"}, "h.json:2:28: $.hosts[0].dataa"},
      {{"lab", "up", folder.path("lab.json")}, "lab.json:3:2: $.mtu: 5 is outside"},
      {{"plan", "smoke", "--rules", folder.path("r.json")}, "r.json:4:4: $.expect[0].p5"},
  };
  for (const auto& one : cases) {
    const Finished done = run_program(plumbline_argv(one.words));
    EXPECT_EQ(done.status, 1) << one.said;
    EXPECT_THAT(done.out + done.err, HasSubstr(one.said));
  }
}

}  // namespace
}  // namespace plumbline
