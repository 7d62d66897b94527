// `plumbline completion SHELL`: completion scripts made from the tables, so that they cannot be out
// of date.

#include <fmt/format.h>

#include <algorithm>

#include "cli/closed_sets.h"
#include "cli/commands.h"
#include "cli/named_inputs.h"
#include "cli/terminal.h"
#include "core/options/options.h"

namespace plumbline {
namespace {

using Words = std::vector<std::string>;

std::string flag_of(const OptionRow& option) {
  std::string flag = std::string("--") + option.name;
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  return flag;
}

// "-o,--folder,--out" -> all three.
Words spellings(const std::string& names) {
  Words out;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    out.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Words words_of(const CommandRow& row) {
  Words words;
  for (const FlagRow& flag : row.flags) words.push_back(spellings(flag.name).back());
  for (const OptionRow& option : option_table()) {
    if (row.takes_options && option.refused == nullptr) words.push_back(flag_of(option));
  }
  if (row.takes_options) words.emplace_back("--help-all");
  words.emplace_back("--help");
  words.emplace_back(kColourFlag);
  for (std::string& word : first_words(row.name)) words.push_back(std::move(word));
  return words;
}

// Names that there are when somebody completes, not when the script was made: the word that asks
// for them, as `completion` takes it.
struct NameList {
  InputNames names;
  const char* word;
};
constexpr NameList kNameLists[] = {{InputNames::kScenarios, "scenarios"},
                                   {InputNames::kRuns, "runs"}};

// "$(plumbline completion runs ...)", "" where the argument takes paths only.
std::string ask_for(InputNames names, const char* form) {
  for (const NameList& list : kNameLists) {
    if (list.names == names) return fmt::format(fmt::runtime(form), list.word);
  }
  return "";
}

// What the command's arguments may be called, in the shell's words.
std::string asked_words(const CommandRow& row, const char* form) {
  for (const PositionalRow& positional : row.positionals) {
    if (positional.names != InputNames::kNone) return ask_for(positional.names, form);
  }
  return "";
}

// Words of a command behind which names follow that it looks up itself.
struct AskedBehind {
  const char *command, *word;
  InputNames names;
};
constexpr AskedBehind kAskedBehind[] = {{"results", "show", InputNames::kRuns}};

constexpr const char* kAskBash = " $(plumbline completion {} 2>/dev/null)";
constexpr const char* kAskFish = " (plumbline completion {} 2>/dev/null)";

// Where one of a few words follows: behind which words of the command, and what.
struct Choice {
  Words behind, values;
};

std::vector<Choice> choices_of(const CommandRow& row) {
  std::vector<Choice> out;
  for (const ClosedSet& set : closed_set_table()) {
    if (std::string_view(set.command) != row.name || *set.word == '\0') continue;
    Choice choice{{set.word}, set.values()};
    for (const FlagRow& flag : row.flags) {
      Words names = spellings(flag.name);
      if (names.back() == set.word) choice.behind = std::move(names);
    }
    out.push_back(std::move(choice));
  }
  for (const OptionRow& option : option_table()) {
    if (!row.takes_options || option.refused != nullptr) continue;
    Words values = option_values(option);
    if (!values.empty()) out.push_back({{flag_of(option)}, std::move(values)});
  }
  return out;
}

// "--sync=none" comes as three words, and the one before the value is "=". Behind a value that goes
// on ("mod:") stands no blank, and no backslash in it, which names of files would have there.
constexpr const char* kBash = R"(_plumbline() {{
  local words values at=$COMP_CWORD current="${{COMP_WORDS[COMP_CWORD]}}"
  [ "$current" = "=" ] && current="" && at=$((at + 1))
  local previous="${{COMP_WORDS[at-1]}}"
  [ "$previous" = "=" ] && previous="${{COMP_WORDS[at-2]}}"
  case "${{COMP_WORDS[1]}}" in
{}    *) words="{}" ;;
  esac
  case "${{COMP_WORDS[1]}} $previous" in
{}    *" {}") values="{}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{}"
  elif [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    [[ "${{COMPREPLY[0]}}" = *: ]] && compopt +o filenames -o nospace 2>/dev/null
    return 0
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _plumbline plumbline
)";

void bash(std::ostream& out) {
  Words names;
  std::string cases, values;
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    names.emplace_back(row.name);
    cases += fmt::format("    {}) words=\"{}{}\" ;;\n", row.name, fmt::join(words_of(row), " "),
                         asked_words(row, kAskBash));
    for (const AskedBehind& asked : kAskedBehind) {
      if (std::string_view(asked.command) != row.name) continue;
      values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", row.name, asked.word,
                            ask_for(asked.names, kAskBash).substr(1));
    }
    for (const FlagRow& flag : row.flags) {
      if (flag.names == InputNames::kNone) continue;  // files beside these, so no closed set
      values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", row.name,
                            spellings(flag.name).back(), ask_for(flag.names, kAskBash).substr(1));
    }
    for (const Choice& choice : choices_of(row)) {
      std::string pattern;
      for (const std::string& word : choice.behind) {
        pattern += fmt::format("{}\"{} {}\"", pattern.empty() ? "" : " | ", row.name, word);
      }
      values += fmt::format("    {}) values=\"{}\" ;;\n", pattern, fmt::join(choice.values, " "));
    }
  }
  const std::string commands = fmt::format("{}", fmt::join(names, " "));
  out << fmt::format(kBash, cases, commands, values, kColourFlag, fmt::join(colour_words(), " "),
                     commands);
}

// How fish is told what a choice stands behind: -l sync, -s c; a word that is no flag is asked for.
std::string fish_words(const std::string& command, const Words& behind, const char* takes = "-x") {
  std::string seen = "__fish_seen_subcommand_from " + command, flags;
  for (const std::string& word : behind) {
    if (word.rfind("--", 0) == 0) {
      flags += " -l " + word.substr(2);
    } else if (word.front() == '-') {
      flags += " -s " + word.substr(1);
    } else {
      seen += "; and __fish_seen_subcommand_from " + word;
    }
  }
  return fmt::format("-n '{}'{} {}", seen, flags, takes);
}

void fish(std::ostream& out) {
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    std::string help = row.help;
    std::replace(help.begin(), help.end(), '\'', ' ');
    out << fmt::format("complete -c plumbline -n __fish_use_subcommand -a {} -d '{}'\n", row.name,
                       help);
    out << fmt::format("complete -c plumbline -n '__fish_seen_subcommand_from {}' -a '{}{}'\n",
                       row.name, fmt::join(words_of(row), " "), asked_words(row, kAskFish));
    for (const AskedBehind& asked : kAskedBehind) {
      if (std::string_view(asked.command) != row.name) continue;
      out << fmt::format("complete -c plumbline {} -a '{}'\n",
                         fish_words(row.name, {asked.word}, "-r"),
                         ask_for(asked.names, kAskFish).substr(1));
    }
    for (const FlagRow& flag : row.flags) {
      if (flag.names == InputNames::kNone) continue;
      out << fmt::format("complete -c plumbline {} -a '{}'\n",
                         fish_words(row.name, {spellings(flag.name).back()}, "-r"),
                         ask_for(flag.names, kAskFish).substr(1));
    }
    for (const Choice& choice : choices_of(row)) {
      out << fmt::format("complete -c plumbline {} -a '{}'\n", fish_words(row.name, choice.behind),
                         fmt::join(choice.values, " "));
    }
  }
}

}  // namespace

int run_completion(const Args& args, Context& context) {
  const std::string shell = args.get("shell");
  if (shell == "bash") {
    bash(*context.out);
  } else if (shell == "zsh") {
    *context.out << "autoload -U +X bashcompinit && bashcompinit\n";
    bash(*context.out);
  } else if (shell == "fish") {
    fish(*context.out);
  } else if (const auto list =
                 std::find_if(std::begin(kNameLists), std::end(kNameLists),
                              [&shell](const NameList& one) { return shell == one.word; });
             list != std::end(kNameLists)) {
    for (const std::string& word : input_words(list->names)) *context.out << word << "\n";
  } else {
    return usage_failure(context, usage_error("no completion for shell '" + shell + "'",
                                              "choose bash, zsh or fish"));
  }
  return 0;
}

}  // namespace plumbline
