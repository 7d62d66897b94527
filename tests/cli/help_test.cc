// --help: examples first, the data path's options on demand; -V, help and --color.

#include <gmock/gmock.h>

#include <iterator>
#include <sstream>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/options/options.h"
#include "core/shell_words.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Finished plumbline(const std::vector<std::string>& arguments) {
  return run_program(plumbline_argv(arguments));
}

TEST(Help, EveryCommandShowsThreeExamplesFirst) {
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    ASSERT_EQ(row.examples.size(), 3u) << row.name;
    const Finished done = plumbline({row.name, "--help"});
    const size_t usage = done.out.find("Usage:");
    ASSERT_NE(usage, std::string::npos) << done.out;
    for (const ExampleRow& example : row.examples) {
      EXPECT_LT(done.out.find(example.line), usage) << example.line;
      EXPECT_LT(done.out.find(example.help), usage) << example.help;
    }
  }
}

int taken(const Args&, Context&) { return 77; }

// Each means its command, and is understood whole.
TEST(Help, EveryExampleIsUnderstood) {
  std::vector<CommandRow> commands = command_table();
  for (CommandRow& row : commands) {
    row.run = taken;
    for (PositionalRow& positional : row.positionals) positional.names = InputNames::kNone;
    for (FlagRow& flag : row.flags) flag.names = InputNames::kNone;
  }
  for (const CommandRow& row : command_table()) {
    for (const ExampleRow& example : row.examples) {
      auto words = split_words(example.line);
      ASSERT_TRUE(words) << example.line;
      std::ostringstream out, err;
      Context context;
      context.argv = *words;
      context.commands = &commands;
      context.out = &out;
      context.err = &err;
      ASSERT_TRUE(take_colour_flag(context.argv)) << example.line;
      const int code = dispatch(commands, context);
      const bool help = words->back() == "--help-all" || words->back() == "-V";
      EXPECT_EQ(code, help ? 0 : 77) << example.line << "\n" << err.str();
      EXPECT_THAT(*words, help ? testing::Contains("plumbline") : testing::Contains(row.name));
    }
  }
}

TEST(Help, OptionsOfTheDataPathComeWithHelpAll) {
  for (const CommandRow& row : command_table()) {
    if (!row.takes_options) continue;
    const Finished less = plumbline({row.name, "--help"});
    EXPECT_THAT(less.out, Not(HasSubstr("--chunk-bytes"))) << row.name;
    EXPECT_THAT(less.out, HasSubstr(std::string("plumbline ") + row.name + " --help-all"));
    const Finished all = plumbline({row.name, "--help-all"});
    EXPECT_EQ(all.status, 0) << row.name << all.err;
    for (const OptionRow& option : option_table()) {
      if (option.refused != nullptr) continue;
      std::string flag = std::string("--") + option.name;
      std::replace(flag.begin() + 2, flag.end(), '_', '-');
      EXPECT_THAT(all.out, HasSubstr(flag)) << row.name;
    }
  }
}

// Nothing stands beyond the terminal's edge, and no word is lost on the way.
TEST(Help, FitsItsTerminal) {
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
  };
  std::vector<std::vector<std::string>> calls = {{"--help"}};
  for (const CommandRow& row : command_table()) calls.push_back({row.name, "--help"});
  calls.push_back({"coll", "--help-all"});
  for (const std::vector<std::string>& call : calls) {
    const std::string wide = plumbline(call).out;
    const std::string narrow = run_program(plumbline_argv(call), {"COLUMNS=80"}).out;
    EXPECT_EQ(words(narrow), words(wide)) << call.front();
    std::istringstream lines(narrow);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Help, HelpIsACommandToo) {
  EXPECT_EQ(plumbline({"help"}).out, plumbline({"--help"}).out);
  EXPECT_EQ(plumbline({"help"}).status, 0);
  EXPECT_EQ(plumbline({"help", "coll"}).out, plumbline({"coll", "--help"}).out);
  const Finished unknown = plumbline({"help", "rnu"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean run?"));
}

TEST(Help, ShortVersion) {
  EXPECT_EQ(plumbline({"-V"}).out, plumbline({"--version"}).out);
  EXPECT_EQ(plumbline({"-V"}).out, "plumbline " PLUMBLINE_VERSION "\n");
  // Behind coll it is nccl-tests' letter.
  EXPECT_EQ(plumbline({"coll", "allreduce", "-V", "3", "-n", "0"}).status, 1);
}

TEST(Colour, FlagBeatsVariableBeatsTerminal) {
  EXPECT_TRUE(coloured(ColourChoice::kAuto, true, true));
  EXPECT_FALSE(coloured(ColourChoice::kAuto, true, false));
  EXPECT_FALSE(coloured(ColourChoice::kAuto, false, true));
  EXPECT_TRUE(coloured(ColourChoice::kAlways, false, false));
  EXPECT_FALSE(coloured(ColourChoice::kNever, true, true));
}

TEST(Colour, FlagStandsAnywhereBeforeTheDashes) {
  std::vector<std::string> argv = {"p", "--color", "never", "run", "--color=always", "x"};
  EXPECT_EQ(take_colour_flag(argv).value(), ColourChoice::kAlways);
  EXPECT_THAT(argv, ElementsAre("p", "run", "x"));
  argv = {"p", "launch", "--", "ls", "--color", "never"};
  EXPECT_EQ(take_colour_flag(argv).value(), ColourChoice::kAuto);
  EXPECT_EQ(argv.size(), 6u);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"p", "run", "--color"},
                                              {"p", "--color="},
                                              {"p", "--color", "x"}}) {
    argv = bad;
    EXPECT_FALSE(take_colour_flag(argv)) << testing::PrintToString(bad);
  }
}

TEST(Colour, IsInWhatIsPrinted) {
  const std::vector<std::string> doctor = {"doctor", "--only", "host", "-v"};
  const auto with = [&](const char* choice, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words = doctor;
    words.insert(words.end(), {"--color", choice});
    return run_program(plumbline_argv(words), environment).out;
  };
  EXPECT_THAT(with("auto"), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(with("never"), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(with("always"), HasSubstr("\x1b["));
  EXPECT_THAT(with("always", {"NO_COLOR=1"}), HasSubstr("\x1b["));
  const Finished bad = plumbline({"doctor", "--color", "red"});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, HasSubstr("auto, always, never"));
}

}  // namespace
}  // namespace plumbline
