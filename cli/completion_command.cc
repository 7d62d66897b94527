// `plumbline completion SHELL`: completion scripts made from the tables, so that they cannot be out
// of date.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/vocabulary.h"
#include "core/options.h"

namespace plumbline {
namespace {

std::vector<std::string> words_of(const CommandRow& row) {
  std::vector<std::string> words;
  for (const FlagRow& flag : row.flags) {
    const std::string names = flag.name;
    words.push_back(names.substr(names.rfind(',') == std::string::npos ? 0 : names.rfind(',') + 1));
  }
  if (row.takes_options) {
    for (const OptionRow& option : option_table()) {
      if (option.refused != nullptr) continue;
      std::string flag = std::string("--") + option.name;
      std::replace(flag.begin() + 2, flag.end(), '_', '-');
      words.push_back(std::move(flag));
    }
  }
  words.emplace_back("--help");
  // Commands whose first argument is a name from a table.
  const std::string command = row.name;
  for (const NamedTable& table : all_tables()) {
    const bool fits = (command == "coll" && table.name == "operations") ||
                      (command == "report" && table.name == "reports");
    if (command == "list") words.push_back(table.name);
    if (!fits) continue;
    for (const Descriptor& descriptor : table.rows) words.push_back(descriptor.name);
  }
  return words;
}

void bash(std::ostream& out) {
  std::vector<std::string> names;
  std::string cases;
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    names.emplace_back(row.name);
    cases += fmt::format("    {}) words=\"{}\" ;;\n", row.name, fmt::join(words_of(row), " "));
  }
  out << fmt::format(R"(_plumbline() {{
  local words current="${{COMP_WORDS[COMP_CWORD]}}"
  case "${{COMP_WORDS[1]}}" in
{}    *) words="{}" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{}"
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _plumbline plumbline
)",
                     cases, fmt::join(names, " "), fmt::join(names, " "));
}

void fish(std::ostream& out) {
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    std::string help = row.help;
    std::replace(help.begin(), help.end(), '\'', ' ');
    out << fmt::format("complete -c plumbline -n __fish_use_subcommand -a {} -d '{}'\n", row.name,
                       help);
    out << fmt::format("complete -c plumbline -n '__fish_seen_subcommand_from {}' -a '{}'\n",
                       row.name, fmt::join(words_of(row), " "));
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
  } else {
    return usage_failure(context,
                         Error{ErrorCode::kUsage, "no completion for shell '" + shell + "'", 0,
                               "choose bash, zsh or fish", ""});
  }
  return 0;
}

}  // namespace plumbline
