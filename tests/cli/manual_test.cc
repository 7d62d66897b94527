// The manual page says what the tables say, in roff that groff reads without a warning.
#include "cli/manual.h"

#include <gmock/gmock.h>

#include "cli/commands.h"
#include "core/options/options.h"
#include "runs/exit_code.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

TEST(Manual, HoldsEveryCommandFlagOptionAndExitCodeOfTheTables) {
  const std::string page = manual_page();
  for (const CommandRow& row : command_table()) {
    const std::string heading = ".SS plumbline " + escaped(row.name) + "\n";
    if (row.hidden) {
      EXPECT_THAT(page, Not(HasSubstr(heading)));
      continue;
    }
    const size_t from = page.find(heading);
    ASSERT_NE(from, std::string::npos) << row.name;
    const std::string section = page.substr(from, page.find("\n.S", from + 1) - from);
    for (const FlagRow& flag : row.flags) {
      const std::string names = flag.name;
      const std::string last = names.substr(names.rfind(',') + 1);
      EXPECT_THAT(section, HasSubstr(escaped(last) + "\\fR")) << row.name;
    }
    EXPECT_GE(row.examples.size(), 3u) << row.name;
    for (const ExampleRow& example : row.examples) {
      const std::string help = example.help;  // up to the first character that roff spells
      EXPECT_THAT(section, HasSubstr("\n" + help.substr(0, help.find_first_of("-'\"`~^"))));
    }
  }
  for (const OptionRow& row : option_table()) {
    if (row.refused == nullptr) {
      EXPECT_THAT(page, HasSubstr(escaped(option_variable(row.name))));
    }
  }
  for (const ExitCodeRow& row : kExitCodes)
    EXPECT_THAT(page, HasSubstr("\\fB" + std::to_string(row.code) + "\\fR\n"));
  EXPECT_THAT(page, HasSubstr("plumbline " PLUMBLINE_VERSION));
}

// A line of text that begins with a dot or an apostrophe would be a command of roff.
TEST(Manual, NoTextIsReadAsACommandOfRoff) {
  const std::string page = manual_page();
  size_t lines = 0;
  for (size_t at = 0; at < page.size(); at = page.find('\n', at) + 1, ++lines) {
    EXPECT_NE(page[at], '\'');
    if (page[at] != '.') continue;
    const std::string word = page.substr(at, page.find_first_of(" \n", at) - at);
    EXPECT_THAT(
        word, testing::AnyOf(".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi", ".nh", ".ad", ".BR"));
  }
  EXPECT_GT(lines, 500u);
}

TEST(Manual, IsReadByGroffWithoutAWarning) {
  if (run_program({"sh", "-c", "command -v groff"}).status != 0) {
    GTEST_SKIP() << "no groff here (package groff-base)";
  }
  const ScratchFolder folder;
  const std::string page = folder.write("plumbline.1", run_program(plumbline_argv({"man"})).out);
  const Finished done = run_program({"groff", "-man", "-Tascii", "-ww", "-P-cbou", page});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_THAT(done.out, HasSubstr("--interleave"));
  EXPECT_THAT(done.out, HasSubstr("eval \"$(plumbline completion bash)\""));
}

}  // namespace
}  // namespace plumbline
