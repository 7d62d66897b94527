// The command line as a table: every command is a row with its flags and positional arguments, from
// which parsing, --help, shell completion and the checks of unknown names come. Values arrive as
// text; each command turns them into what it needs.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Names that an argument takes beside paths (cli/named_inputs.h).
enum class InputNames { kNone, kScenarios, kRuns };

struct FlagRow {
  const char*
      name;  // "--out" or "-b"; several spellings: "-o,--out" (the last one is the key in Args)
  const char* value;  // what it takes, "DIR"; nullptr = a switch
  const char* help;
  bool repeatable = false;
  InputNames names = InputNames::kNone;
};

struct PositionalRow {
  const char* name;
  const char* help;
  bool required = true;
  bool repeatable = false;
  InputNames names = InputNames::kNone;
};

// A command line as a user would write it, and what it does.
struct ExampleRow {
  const char *line, *help;
};

class Args {
 public:
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  // Last value given, or `otherwise`.
  std::string get(const std::string& name, const std::string& otherwise = "") const;
  std::vector<std::string> all(const std::string& name) const;
  std::vector<std::string> names() const;  // of everything that was given
  void add(const std::string& name, std::string value) {
    values_[name].push_back(std::move(value));
  }
  void replace(const std::string& name, std::vector<std::string> values) {
    values_[name] = std::move(values);
  }
  // Data-path options that were given as flags, name as in the option table.
  std::map<std::string, std::string> options;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

// The whole number in flag `--name`, `otherwise` when it was not given; kUsage, with the bounds,
// for anything that is no number from `least` to `most`.
Expected<int64_t> flag_number(const Args& args, const char* name, int64_t otherwise, int64_t least,
                              int64_t most);

// What is wrong with a command line; `hint` says what to write, and may be empty.
inline Error usage_error(std::string what, std::string hint) {
  return {ErrorCode::kUsage, std::move(what), 0, std::move(hint), ""};
}

struct Context;

struct CommandRow {
  const char* name;
  const char* help;
  std::vector<PositionalRow> positionals;
  std::vector<FlagRow> flags;
  bool takes_options;  // accepts every row of the option table as --name
  bool hidden;
  int (*run)(const Args& args, Context& context);  // exit code
  const char* notes = "";                          // printed below --help
  // An action whose last words are a command of their own, as it is written ("exec HOST -- CMD").
  const char* foreign = "";
  std::vector<ExampleRow> examples = {};  // three, shown first (cli/examples.cc)
};

// What main() hands to every command.
struct Context {
  std::vector<std::string> argv;
  const std::vector<CommandRow>* commands = nullptr;
  std::ostream* out = nullptr;  // results
  std::ostream* err = nullptr;  // progress and errors
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = true;       // wanted where there is a terminal (NO_COLOR, --color)
  bool out_colour = false;  // what goes to `out` is coloured
  int width = 0;            // columns of the terminal behind `out`, 0 = not a terminal
};

// Parses argv against the table and runs the command. Usage errors are printed with the nearest
// valid name; exit code 1.
int dispatch(const std::vector<CommandRow>& commands, Context& context);

// Prints errors the one way all commands do: "plumbline: <message>" per line; returns the exit
// code 1.
int usage_failure(Context& context, const std::vector<Error>& errors);
int usage_failure(Context& context, const Error& error);

}  // namespace plumbline
