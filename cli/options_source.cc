#include "cli/options_source.h"

#include <utility>

#include "transport/transports.h"

namespace plumbline {

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config) {
  OptionSources sources;
  sources.flags = args.options;
  sources.scenario = scenario_config;
  sources.environment = read_option_environment();
  auto options = OptionSet::resolve(sources);
  if (!options) return options;
  // Not run over another one instead, whatever the place it was named in.
  if (const auto usable = find_transport(options->text("transport")); !usable) {
    Error error = usable.error();
    error.what += " (from " + options->origin("transport") + ")";
    return tl::unexpected(std::vector<Error>{std::move(error)});
  }
  return options;
}

LogLevel log_level(const OptionSet& options) {
  LogLevel level = LogLevel::kWarn;
  log_level_from(options.text("log_level"), level);
  return level;
}

}  // namespace plumbline
