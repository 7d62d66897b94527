// Shell completion offers the words that may stand where the cursor is.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "cli/closed_sets.h"
#include "cli/commands.h"
#include "core/options/options.h"
#include "core/split.h"
#include "tests/support/program.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

// What bash offers behind these words, the last of which is begun; and what `beside`, more of the
// shell's language, makes it say.
Words offered(const Words& words, const std::string& beside = "") {
  const ScratchFolder folder;
  const std::string script =
      folder.write("script", run_program(plumbline_argv({"completion", "bash"})).out);
  std::string line = "cd " + folder.path() + "; . " + script + "; " + beside;
  line += " COMP_WORDS=(plumbline";
  for (const std::string& word : words) line += " '" + word + "'";
  line += "); COMP_CWORD=" + std::to_string(words.size()) +
          "; _plumbline; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Finished done = run_program({"bash", "--norc", "-c", line});
  EXPECT_EQ(done.status, 0) << done.err;
  std::istringstream in(done.out);
  Words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

TEST(Completion, OffersTheValuesOfFlags) {
  EXPECT_THAT(offered({"coll", "allreduce", "--sync", ""}),
              ElementsAre("none", "barrier", "window"));
  EXPECT_THAT(offered({"coll", "allreduce", "--sync", "w"}), ElementsAre("window"));
  EXPECT_THAT(offered({"coll", "allreduce", "-o", "m"}), UnorderedElementsAre("max", "min"));
  EXPECT_THAT(offered({"launch", "--as", "t"}), ElementsAre("torchrun"));
  EXPECT_THAT(offered({"launch", "--stdin", ""}), ElementsAre("0", "all", "none"));
  EXPECT_THAT(offered({"hosts", "convert", "x", "--to", "mlx"}), ElementsAre("mlx", "mlx-array"));
  EXPECT_THAT(offered({"doctor", "--only", "tcp.c"}), ElementsAre("tcp.connect"));
  EXPECT_THAT(offered({"run", "x.json", "--launcher", "op"}), ElementsAre("openmpi"));
}

TEST(Completion, OffersTheWaysToSplitWithoutTheirNumber) {
  const Words ways = offered({"coll", "allreduce", "--split", ""});
  EXPECT_THAT(ways, ElementsAre(kNoSplit, "mod:", "div:"));
  for (const std::string& way : ways) {
    EXPECT_TRUE(parse_split(way == kNoSplit ? way : way + "2")) << way;
  }
  EXPECT_THAT(offered({"coll", "allreduce", "--split", "d"}), ElementsAre("div:"));
}

// Else bash would write "mod\: ", and the number would be a word of its own.
TEST(Completion, AValueThatGoesOnHasNeitherBlankNorBackslashBehindIt) {
  const std::string said = "compopt() { echo \"$@\"; };";
  EXPECT_THAT(offered({"coll", "allreduce", "--split", "m"}, said),
              ElementsAre("+o", "filenames", "-o", "nospace", "mod:"));
  EXPECT_THAT(offered({"coll", "allreduce", "--sync", "w"}, said), ElementsAre("window"));
}

TEST(Completion, OffersTheValuesOfOptions) {
  std::vector<std::string> transports = {"auto"};
  for (const TransportRow& row : transport_table()) transports.emplace_back(row.name);
  EXPECT_EQ(offered({"coll", "allreduce", "--transport", ""}), transports);
  EXPECT_THAT(offered({"run", "--transport-crc", ""}), ElementsAre("on", "off"));
  EXPECT_THAT(offered({"config", "--algorithm", "ri"}), Contains("ring"));
  // As bash takes "--transport=m" apart.
  EXPECT_THAT(offered({"coll", "--transport", "=", "m"}), ElementsAre("memory"));
  EXPECT_THAT(offered({"coll", "--transport", "="}), Contains("memory"));
}

TEST(Completion, OffersTheWordsOfActions) {
  EXPECT_THAT(offered({"hosts", "c"}), ElementsAre("check", "convert"));
  EXPECT_THAT(offered({"results", "pr"}), ElementsAre("prune"));
  EXPECT_THAT(offered({"lab", "inject", "drop_inb"}), Contains("drop_inbound"));
  EXPECT_THAT(offered({"completion", "f"}), ElementsAre("fish"));
  EXPECT_THAT(offered({"list", "host-"}), ElementsAre("host-files"));
}

TEST(Completion, ElsewhereFilesAreOfferedAsWell) {
  EXPECT_THAT(offered({"run", "scr"}), Contains("script"));
  EXPECT_THAT(offered({"coll", "allreduce", "--sync", "scr"}), IsEmpty());
}

// Where help names the values ("hot/cold", "0-3"), a row of the table does.
TEST(Completion, EveryFlagWhoseValuesAreNamedHasThem) {
  for (const CommandRow& row : command_table()) {
    for (const FlagRow& flag : row.flags) {
      const std::string value = flag.value == nullptr ? "" : flag.value;
      if (value.find('/') == std::string::npos && value != "0-3") continue;
      const std::string names = flag.name;
      const std::string last = names.substr(names.rfind(',') + 1);
      const auto sets = closed_set_table();
      EXPECT_TRUE(std::any_of(sets.begin(), sets.end(),
                              [&](const ClosedSet& set) {
                                return std::string(set.command) == row.name && last == set.word;
                              }))
          << row.name << " " << last;
    }
  }
}

// Every row means a command, flag or argument that there is, and offers something.
TEST(Completion, EveryRowIsAboutSomethingThatIsThere) {
  const std::vector<CommandRow> commands = command_table();
  for (const ClosedSet& set : closed_set_table()) {
    const std::string word = set.word;
    const auto row = std::find_if(commands.begin(), commands.end(), [&](const CommandRow& one) {
      return std::string(one.name) == set.command;
    });
    ASSERT_NE(row, commands.end()) << set.command;
    EXPECT_THAT(set.values(), Not(IsEmpty())) << set.command << " " << word;
    if (word.rfind("--", 0) == 0) {
      EXPECT_TRUE(std::any_of(row->flags.begin(), row->flags.end(),
                              [&](const FlagRow& flag) {
                                const std::string names = flag.name;
                                return names.substr(names.rfind(',') + 1) == word;
                              }))
          << set.command << " " << word;
    } else {
      EXPECT_FALSE(row->positionals.empty()) << set.command;
    }
  }
}

// What is offered is taken: no value is refused as unknown.
TEST(Completion, EveryValueOfAnOptionIsTaken) {
  for (const OptionRow& option : option_table()) {
    if (option.refused != nullptr) continue;
    const Words values = option_values(option);
    EXPECT_EQ(values.empty(),
              option.choices == nullptr && option.type != OptionType::kBool &&
                  option.type != OptionType::kNamed && std::string(option.name) != "algorithm" &&
                  std::string(option.name) != "compression" && std::string(option.name) != "kernel")
        << option.name;
    for (const std::string& value : values) {
      OptionSources sources;
      sources.flags[option.name] = value;
      sources.choices = transport_choices();
      EXPECT_TRUE(OptionSet::resolve(sources)) << option.name << " " << value;
    }
  }
}

TEST(Completion, FishAndZshHaveThemToo) {
  EXPECT_THAT(run_program(plumbline_argv({"completion", "zsh"})).out,
              testing::HasSubstr(R"("coll --sync") values="none barrier window" ;;)"));
  const std::string fish = run_program(plumbline_argv({"completion", "fish"})).out;
  EXPECT_THAT(fish, testing::HasSubstr("-l sync -x -a 'none barrier window'"));
  EXPECT_THAT(fish, testing::HasSubstr("-s o -l op -x -a 'all "));
}

}  // namespace
}  // namespace plumbline
