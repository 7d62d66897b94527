// The guides in docs/ and the README against the program's own table of commands, and the words
// that people read.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/shell_words.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

std::vector<std::string> guides() {
  std::vector<std::string> files = {test::source_dir() + "/README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + "/docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The program's table, with commands that do nothing: only what stands on the line is judged.
std::vector<CommandRow> idle_commands() {
  std::vector<CommandRow> commands = command_table();
  for (CommandRow& row : commands) {
    row.run = [](const Args&, Context&) { return 0; };
    for (FlagRow& flag : row.flags) flag.names = InputNames::kNone;  // the files are not there
    for (PositionalRow& word : row.positionals) word.names = InputNames::kNone;
  }
  return commands;
}

// Of a line "$ sudo build/plumbline run FILE --out DIR   # why" the words from plumbline on; empty
// = the line shows no command.
std::vector<std::string> shown_command(std::string line) {
  const auto without = [&line](const std::string& prefix) {
    if (line.rfind(prefix, 0) != 0) return false;
    line.erase(0, prefix.size());
    return true;
  };
  line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
  without("$ ");
  without("sudo ");
  if (!without("build/plumbline ") && !without("plumbline ")) return {};
  for (const char* end : {" #", " |", " >", " <", " &&"}) {
    line.erase(std::min(line.find(end), line.size()));
  }
  std::replace(line.begin(), line.end(), '*', 'x');  // a pattern stands for its files
  const Expected<std::vector<std::string>> words = split_words(line);
  if (!words) {
    ADD_FAILURE() << line << ": " << words.error().what;
    return {};
  }
  std::vector<std::string> argv = {"plumbline"};
  argv.insert(argv.end(), words->begin(), words->end());
  return argv;
}

// A block is fenced, or stands four blanks in. What a program prints stands there too: "plumbline:
// ..." is no command, and neither is the list of programs of a scenario.
std::vector<std::vector<std::string>> shown_commands(const std::string& file) {
  std::vector<std::vector<std::string>> out;
  std::istringstream page(read_file(file));
  bool fenced = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("```", 0) == 0) fenced = !fenced;
    if (!fenced && line.rfind("    ", 0) != 0) continue;
    if (line.find("plumbline on mini2: ") != std::string::npos) continue;
    std::vector<std::string> argv = shown_command(line);
    if (!argv.empty()) out.push_back(std::move(argv));
  }
  return out;
}

TEST(Docs, EveryCommandShownIsOneOfTheProgram) {
  const std::vector<CommandRow> commands = idle_commands();
  size_t seen = 0;
  for (const std::string& file : guides()) {
    for (const std::vector<std::string>& argv : shown_commands(file)) {
      std::ostringstream out, err;
      Context context;
      context.argv = argv;
      ASSERT_TRUE(take_colour_flag(context.argv)) << file;
      context.commands = &commands;
      context.out = &out;
      context.err = &err;
      EXPECT_EQ(dispatch(commands, context), 0)
          << file << ": " << testing::PrintToString(argv) << "\n"
          << err.str();
      ++seen;
    }
  }
  EXPECT_GE(seen, 50u);
}

// What was once printed or written, and what nobody would say aloud.
TEST(Docs, WordsAreThoseThatOneSaysAloud) {
  constexpr const char* kOnce[] = {"is none: it was measured",
                                   "Beside measuring",
                                   "is overread",
                                   "nobody can be asked",
                                   "over ssh are not possible",
                                   "lets us in",
                                   "let us in",
                                   "vanish unsaid",
                                   "nobody of ours",
                                   "cannot say it:",
                                   "says not how",
                                   "one word too many",
                                   "roof that is none",
                                   "roofs that are none",
                                   "nothing behind was read"};
  std::vector<std::string> files = guides();
  for (const char* folder : {"cli", "core", "probes", "reports", "scenarios", "launch", "transport",
                             "collectives", "scripts"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(test::source_dir() + "/" + folder)) {
      const std::string kind = entry.path().extension();
      if (kind == ".cc" || kind == ".sh" || kind == ".json") files.push_back(entry.path());
    }
  }
  EXPECT_GE(files.size(), 300u);
  for (const std::string& file : files) {
    const std::string text = read_file(file);
    for (const char* words : kOnce) {
      EXPECT_EQ(text.find(words), std::string::npos) << file << ": " << words;
    }
  }
}

}  // namespace
}  // namespace plumbline
