#include "cli/options_source.h"

#include <utility>

#include "cli/user_options.h"
#include "runs/ranks/ranks_in_process.h"
#include "scenarios/check.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

constexpr const char* kUserOrigin = "user config";  // its path would name the user in records

// Between the variables and the link profile: only what nobody nearer to this run has set.
void add_user_options(const UserOptions& user, OptionSet& options, std::vector<Error>& problems) {
  for (const auto& [name, value] : user.values) {
    const std::string elsewhere = option_place(name, false);
    Expected<OptionSet> changed = options.with(name, value, kUserOrigin);
    Error error;
    if (!changed) {
      error = changed.error();
    } else if (!elsewhere.empty()) {
      error.what = name + " decides what is started on other hosts, so that no file may set it";
      error.hint = elsewhere;
    } else {
      const std::string& origin = options.origin(name);
      if (origin == "default" || origin.rfind("link profile ", 0) == 0) {
        options = std::move(*changed);
      }
      continue;
    }
    error.code = ErrorCode::kConfig;
    error.what = user.places.at(name) + ": " + error.what;
    problems.push_back(std::move(error));
  }
}

}  // namespace

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config) {
  OptionSources sources;
  sources.flags = args.options;
  sources.scenario = scenario_config;
  sources.environment = read_option_environment();
  sources.choices = transport_choices();
  auto options = OptionSet::resolve(sources);
  if (!options) return options;
  const Expected<UserOptions> user = read_user_options(user_options_path());
  if (!user) return tl::unexpected(std::vector<Error>{user.error()});
  std::vector<Error> problems;
  add_user_options(*user, *options, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  // Not run over another one instead, whatever the place it was named in.
  if (const auto usable = find_transport(options->text("transport"), args.has(kRanksInProcess));
      !usable) {
    Error error = usable.error();
    error.what += " (from " + options->origin("transport") + ")";
    return tl::unexpected(std::vector<Error>{std::move(error)});
  }
  return options;
}

}  // namespace plumbline
