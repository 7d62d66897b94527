#include "cli/launch_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/plain_caller.h"
#include "core/encode.h"
#include "core/file.h"
#include "core/text.h"

namespace plumbline {
namespace {

// What is each rank's own: who it is, where it finds rank 0, how much it says. A scenario is
// compared by its content, and what all ranks must share of the options by its value.
bool is_own_word(const std::string& name) {
  constexpr std::array kOwn = {"scenario",           "launcher",    "master",   "quiet",
                               "connect_timeout_ms", "master_port", "log_level"};
  return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
}

std::string in_a_line(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

// The words that ranks of one run are given alike, by how they are written.
std::map<std::string, std::string> words_of(const Args& args, const Context& context,
                                            const std::string& command) {
  std::map<std::string, std::string> words;
  for (const CommandRow& row : *context.commands) {
    if (command != row.name) continue;
    for (const PositionalRow& positional : row.positionals) {
      if (!args.has(positional.name) || is_own_word(positional.name)) continue;
      words[positional.name] = in_a_line(args.all(positional.name));
    }
    for (const FlagRow& flag : row.flags) {
      const std::string names = flag.name;
      const size_t comma = names.rfind(',');
      const std::string written = comma == std::string::npos ? names : names.substr(comma + 1);
      const std::string key = written.substr(written.find_first_not_of('-'));
      if (!args.has(key) || is_own_word(key)) continue;
      words[written] = flag.value == nullptr ? "given" : in_a_line(args.all(key));
    }
  }
  for (const auto& [name, value] : args.options) {
    const OptionRow* option = find_option(name);
    if (is_own_word(name) || (option != nullptr && option->must_agree)) continue;
    std::string written = "--" + name;
    std::replace(written.begin(), written.end(), '_', '-');
    words[written] = value;
  }
  return words;
}

}  // namespace

Expected<std::optional<LauncherPlace>> own_launch(const Args& args) {
  const std::string wanted = args.get("launcher", "auto");
  const std::vector<std::string>& choices = launcher_choices();
  if (std::find(choices.begin(), choices.end(), wanted) == choices.end()) {
    std::string all;
    for (const std::string& choice : choices) all += (all.empty() ? "" : ", ") + choice;
    return fail(ErrorCode::kUsage, "--launcher " + wanted + ": no such launcher", "one of " + all);
  }
  return find_launcher(own_variables(), wanted);
}

LaunchCall launch_call(const Args& args, const OptionSet& options, const Context& context,
                       Caller& caller, const std::string& command, const std::string& scenario) {
  LaunchCall call;
  call.options = &options;
  call.master = args.get("master");
  call.exclude = args.all("exclude");
  call.words = words_of(args, context, command);
  call.caller = &caller;
  call.over = end_soon;
  call.quiet = args.has("quiet");
  call.config["command"] = command;
  if (!scenario.empty()) {
    constexpr size_t kMostBytes = 16 << 20;
    const Expected<std::string> text = read_input_file(scenario, kMostBytes);
    if (!text) return call;        // its options are not known here either
    constexpr size_t kShown = 16;  // hex digits
    call.config["scenario"] = to_hex(sha256(*text)).substr(0, kShown);
  }
  const std::string lines = options.config_text();
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const size_t equals = std::min(lines.find('=', at), end);
    call.config[lines.substr(at, equals - at)] =
        lines.substr(std::min(equals + 1, end), end - equals - 1);
    at = end + 1;
  }
  return call;
}

int rank_failure(const std::optional<LauncherPlace>& place, Context& context,
                 const std::vector<Error>& errors) {
  if (!place || place->rank == 0) return usage_failure(context, errors);
  for (const Error& error : errors) {
    *context.err << printable(rank_error(*place, error)) << "\n";
  }
  return 1;
}

}  // namespace plumbline
