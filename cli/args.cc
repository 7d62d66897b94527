#include "cli/args.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <sstream>

#include "cli/closed_sets.h"
#include "cli/named_inputs.h"
#include "cli/usage_words.h"
#include "core/number.h"
#include "core/options/options.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr const char* kHelpAll = "--help-all";

// "chunk_bytes" -> "--chunk-bytes"
std::string flag_of(const char* option) {
  std::string flag = std::string("--") + option;
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  return flag;
}

// "-o,--out" -> "out"; "-b" -> "b"
std::string key_of(const char* names) {
  std::string text = names;
  const size_t comma = text.rfind(',');
  if (comma != std::string::npos) text = text.substr(comma + 1);
  return text.substr(text.find_first_not_of('-'));
}

// One command's CLI11 sub-application and the storage that it parses into.
struct Parsed {
  const CommandRow* row = nullptr;
  CLI::App* app = nullptr;
  // Deques, because CLI11 keeps the addresses.
  std::deque<std::pair<std::string, std::vector<std::string>>> values;
  std::deque<std::pair<std::string, std::string>> singles;
  std::deque<std::pair<std::string, bool>> switches;
  std::deque<std::pair<std::string, std::string>> options;
};

std::string with_examples(const CommandRow& row) {
  std::string text = std::string(row.help) + "\n";
  size_t width = 0;
  for (const ExampleRow& example : row.examples) {
    width = std::max(width, std::string_view(example.line).size());
  }
  for (const ExampleRow& example : row.examples) {
    // What does not fit beside the longest line stands below its own.
    constexpr size_t kWidest = 44;
    text += width <= kWidest ? fmt::format("\n  {:<{}}  {}", example.line, width, example.help)
                             : fmt::format("\n  {}\n      {}", example.line, example.help);
  }
  return row.examples.empty() ? row.help : text + "\n";
}

void declare(CLI::App& root, Parsed& parsed, bool all_options) {
  const CommandRow& row = *parsed.row;
  parsed.app = root.add_subcommand(row.name, row.help);
  if (row.hidden) parsed.app->group("");
  std::string notes = row.notes;
  if (row.takes_options) {
    parsed.app->add_flag(kHelpAll)->description("Print the data-path options too and exit");
    if (!all_options) {
      notes += fmt::format(
          "{}Options of the data path (plumbline list options) are flags too: "
          "plumbline {} {}",
          notes.empty() ? "" : "\n", row.name, kHelpAll);
    }
  }
  parsed.app->footer(notes);
  for (const PositionalRow& positional : row.positionals) {
    CLI::Option* option = nullptr;
    if (positional.repeatable) {
      auto& entry = parsed.values.emplace_back(positional.name, std::vector<std::string>());
      option = parsed.app->add_option(positional.name, entry.second, positional.help);
    } else {
      auto& entry = parsed.singles.emplace_back(positional.name, "");
      option = parsed.app->add_option(positional.name, entry.second, positional.help);
    }
    option->required(positional.required);
  }
  for (const FlagRow& flag : row.flags) {
    if (flag.value == nullptr) {
      auto& entry = parsed.switches.emplace_back(key_of(flag.name), false);
      parsed.app->add_flag(flag.name, entry.second, flag.help);
      continue;
    }
    auto& entry = parsed.values.emplace_back(key_of(flag.name), std::vector<std::string>());
    CLI::Option* option = parsed.app->add_option(flag.name, entry.second, flag.help);
    // One value a flag: what follows it is a positional argument.
    option->type_name(flag.value)->expected(1)->allow_extra_args(false)->take_last();
    if (flag.repeatable) option->take_all();
  }
  if (!row.takes_options) return;
  for (const OptionRow& option : option_table()) {
    if (option.refused != nullptr) continue;
    auto& entry = parsed.options.emplace_back(option.name, "");
    parsed.app->add_option(flag_of(option.name), entry.second, option.help)
        ->type_name(option.default_value)
        ->group(all_options ? "Data path options (shown: default)" : "");
  }
}

Args collect(const Parsed& parsed) {
  Args args;
  for (const auto& [name, values] : parsed.values) {
    for (const std::string& value : values) args.add(name, value);
  }
  for (const auto& [name, value] : parsed.singles) {
    if (!value.empty()) args.add(name, value);
  }
  for (const auto& [name, on] : parsed.switches) {
    if (on) args.add(name, "1");
  }
  for (const auto& [name, value] : parsed.options) {
    const CLI::Option* option = parsed.app->get_option(flag_of(name.c_str()));
    if (option->count() > 0) args.options[name] = value;
  }
  return args;
}

// Puts paths in the place of names, where the row says that it takes them.
Status resolve_names(const CommandRow& row, Args& args) {
  // What is wrong with its first word the command says itself, before anything else.
  const std::vector<std::string> firsts = first_words(row.name);
  if (!firsts.empty() && !row.positionals.empty() &&
      std::count(firsts.begin(), firsts.end(), args.get(row.positionals.front().name)) == 0) {
    return {};
  }
  const auto resolve = [&args](const std::string& key, InputNames names) -> Status {
    if (names == InputNames::kNone || !args.has(key)) return {};
    std::vector<std::string> paths;
    for (const std::string& word : args.all(key)) {
      Expected<std::string> path = named_input(names, word);
      if (!path) return fail(path.error());
      paths.push_back(std::move(*path));
    }
    args.replace(key, std::move(paths));
    return {};
  };
  for (const PositionalRow& positional : row.positionals) {
    if (const Status done = resolve(positional.name, positional.names); !done) return done;
  }
  for (const FlagRow& flag : row.flags) {
    if (const Status done = resolve(key_of(flag.name), flag.names); !done) return done;
  }
  return {};
}

// --help-all is --help that shows more. True when it was asked for.
bool take_help_all(std::vector<std::string>& argv) {
  bool found = false;
  for (std::string& word : argv) {
    if (word == "--") break;
    if (word != kHelpAll) continue;
    word = "--help";
    found = true;
  }
  return found;
}

// CLI11 says what it did not understand; we add the nearest name that it would have understood.
std::string suggestion(const CommandRow* row, const std::vector<CommandRow>& commands,
                       const std::vector<std::string>& argv) {
  std::vector<std::string> valid;
  if (row == nullptr) {
    for (const CommandRow& command : commands) {
      if (!command.hidden) valid.emplace_back(command.name);
    }
    return argv.size() > 1 ? nearest_name(argv[1], valid) : "";
  }
  for (const FlagRow& flag : row->flags) valid.push_back("--" + key_of(flag.name));
  if (row->takes_options) {
    for (const OptionRow& option : option_table()) valid.push_back(flag_of(option.name));
  }
  for (const std::string& argument : argv) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.rfind("--", 0) != 0 || std::count(valid.begin(), valid.end(), name) > 0) continue;
    return nearest_name(name, valid);
  }
  return "";
}

// How a command of its own is written, when this line gave it without the "--" in front.
std::string foreign_hint(const CommandRow* row, const std::vector<std::string>& argv) {
  const std::string foreign = row == nullptr ? "" : row->foreign;
  if (foreign.empty() || std::count(argv.begin(), argv.end(), "--") > 0 ||
      std::count(argv.begin(), argv.end(), foreign.substr(0, foreign.find(' '))) == 0) {
    return "";
  }
  return fmt::format("; the options of another program stand behind --: plumbline {} {}", row->name,
                     foreign);
}

// Takes the words behind "--" out of the command line when the command's last positional argument
// may be repeated: they belong to it as they stand, options of other programs included.
std::vector<std::string> take_verbatim(const std::vector<CommandRow>& commands,
                                       std::vector<std::string>& argv) {
  std::vector<std::string> words;
  const auto mark = std::find(argv.begin(), argv.end(), "--");
  if (mark == argv.end()) return words;
  for (const CommandRow& row : commands) {
    if (argv[1] != row.name || row.positionals.empty() || !row.positionals.back().repeatable) {
      continue;
    }
    words.assign(mark + 1, argv.end());
    argv.erase(mark, argv.end());
    break;
  }
  return words;
}

}  // namespace

std::string Args::get(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second.back();
}

Expected<int64_t> flag_number(const Args& args, const char* name, int64_t otherwise, int64_t least,
                              int64_t most) {
  if (!args.has(name)) return otherwise;
  const std::string text = args.get(name);
  if (const auto value = parse_whole(text, least, most)) return *value;
  return fail(ErrorCode::kUsage, fmt::format("--{} '{}' is not a whole number from {} to {}", name,
                                             text, least, most));
}

std::vector<std::string> Args::all(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> Args::names() const {
  std::vector<std::string> out;
  for (const auto& [name, values] : values_) out.push_back(name);
  return out;
}

int usage_failure(Context& context, const std::vector<Error>& errors) {
  for (const Error& error : errors) {
    *context.err << "plumbline: " << printable(error.message()) << "\n";
  }
  return 1;
}

int usage_failure(Context& context, const Error& error) {
  return usage_failure(context, std::vector<Error>{error});
}

int dispatch(const std::vector<CommandRow>& commands, Context& context) {
  CLI::App root("Is this cluster's network sound, why not, and how fast is it?", "plumbline");
  root.require_subcommand(1);
  root.set_version_flag("-V,--version", "plumbline " PLUMBLINE_VERSION);
  // For --help only: main() takes it out of the command line.
  root.add_option("--color", "colours in what is printed: auto, always or never (auto; NO_COLOR)")
      ->type_name("WHEN");
  std::vector<std::string> argv = context.argv;
  const bool all_options = take_help_all(argv);
  std::deque<Parsed> all;
  for (const CommandRow& row : commands) {
    Parsed& parsed = all.emplace_back();
    parsed.row = &row;
    declare(root, parsed, all_options);
  }
  if (context.argv.size() < 2) {
    *context.err << fold_help(root.help(), static_cast<size_t>(context.width));
    return 1;
  }
  const Parsed* chosen = nullptr;
  const std::vector<std::string> verbatim = take_verbatim(commands, argv);
  try {
    std::vector<std::string> reversed(argv.rbegin(), argv.rend() - 1);
    root.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      for (Parsed& parsed : all) {
        if (parsed.app->parsed()) parsed.app->description(with_examples(*parsed.row));
      }
      std::ostringstream help;
      const int code = root.exit(error, help, *context.err);
      *context.out << fold_help(help.str(), static_cast<size_t>(context.width));
      return code;
    }
    const CommandRow* row = nullptr;
    for (const Parsed& parsed : all) {
      if (context.argv[1] == parsed.row->name) row = parsed.row;
    }
    const bool no_command = row == nullptr && context.argv[1].rfind('-', 0) != 0;
    *context.err << "plumbline: "
                 << (no_command ? "there is no command '" + printable(context.argv[1]) + "'"
                                : usage_words(error.get_exit_code(), error.what()));
    const std::string near = suggestion(row, commands, context.argv);
    const std::string foreign = foreign_hint(row, context.argv);
    if (!foreign.empty()) *context.err << foreign;
    if (foreign.empty() && !near.empty()) *context.err << "; did you mean " << near << "?";
    *context.err << "\nTry: plumbline " << (row != nullptr ? std::string(row->name) + " " : "")
                 << "--help\n";
    return 1;
  }
  for (const Parsed& parsed : all) {
    if (parsed.app->parsed()) chosen = &parsed;
  }
  Args args = collect(*chosen);
  for (const std::string& word : verbatim) args.add(chosen->row->positionals.back().name, word);
  if (const Status named = resolve_names(*chosen->row, args); !named) {
    return usage_failure(context, named.error());
  }
  return chosen->row->run(args, context);
}

}  // namespace plumbline
