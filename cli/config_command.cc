// `plumbline config`: every option, its value, and where it came from.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/options_source.h"
#include "cli/scenario_source.h"
#include "core/json.h"

namespace plumbline {

int run_config(const Args& args, Context& context) {
  std::map<std::string, std::string> config;
  if (args.has("scenario")) {
    const std::optional<Scenario> scenario = read_scenario(args.get("scenario"), args, context);
    if (!scenario) return 1;
    config = scenario->config;
  }
  const auto options = resolve_options(args, config);
  if (!options) return usage_failure(context, options.error());
  const auto values = options->values();
  if (args.has("json")) {
    nlohmann::json all = nlohmann::json::object();
    for (const auto& [name, option] : values) {
      all[name] = {{"value", option.value}, {"origin", option.origin}};
    }
    *context.out << json_text(all);
    return 0;
  }
  size_t name_width = 0;
  size_t value_width = 0;
  for (const auto& [name, option] : values) {
    name_width = std::max(name_width, name.size());
    value_width = std::max(value_width, option.value.size());
  }
  for (const auto& [name, option] : values) {
    *context.out << fmt::format("{:<{}}  {:<{}}  {}\n", name, name_width,
                                option.value.empty() ? "-" : option.value, value_width,
                                option.origin);
  }
  return 0;
}

}  // namespace plumbline
