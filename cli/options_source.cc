#include "cli/options_source.h"

namespace plumbline {

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config) {
  OptionSources sources;
  sources.flags = args.options;
  sources.scenario = scenario_config;
  sources.environment = read_option_environment();
  return OptionSet::resolve(sources);
}

LogLevel log_level(const OptionSet& options) {
  LogLevel level = LogLevel::kWarn;
  log_level_from(options.text("log_level"), level);
  return level;
}

}  // namespace plumbline
