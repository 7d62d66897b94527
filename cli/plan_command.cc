// `plumbline plan`: what a scenario would measure, with an estimate of the time.

#include "cli/commands.h"
#include "cli/core_places.h"
#include "cli/options_source.h"
#include "cli/plan_text.h"
#include "cli/rule_source.h"
#include "cli/scenario_programs.h"
#include "cli/scenario_source.h"
#include "core/json.h"
#include "runs/hosts/memory_check.h"

namespace plumbline {

int run_plan(const Args& args, Context& context) {
  const std::optional<Scenario> scenario = read_scenario(args, context);
  if (!scenario) return 1;
  const auto options = resolve_options(args, scenario->config);
  if (!options) return usage_failure(context, options.error());
  tell_uncounted_places(scenario->hosts, context);
  const std::optional<Plan> plan = plan_of(*scenario, *options, args, context);
  if (!plan) return 1;
  std::optional<RuleRequest> rules = read_rules(scenario->expect, args, context);
  if (!rules) return 1;
  RuleCheck check;
  bool sound = check_rules(*rules, *scenario, *options, *plan, args, context, check);
  const HostMemory here = memory_here(scenario->hosts);
  if (const Status fits = fits_memory(*plan, *options, scenario->hosts, here); !fits) {
    usage_failure(context, fits.error());
    sound = false;
  }
  if (!args.has("json")) {
    print_plan(*plan, {args.has("verbose"), context.width, context.out_colour}, *context.out);
    print_lines(check.lines, context.width, *context.out);
    print_programs(*scenario, permitted_by(args), *context.out);
    return sound ? 0 : 1;
  }
  nlohmann::json cells = nlohmann::json::array();
  for (const PlanCell& planned : plan->cells) {
    cells.push_back({{"id", planned.id},
                     {"cell", planned.cell},
                     {"skip", planned.skip},
                     {"estimated_s", planned.estimated_s}});
  }
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, option] : options->values()) {
    values[name] = {{"value", option.value}, {"origin", option.origin}};
  }
  nlohmann::json all = {{"cells", std::move(cells)},    {"seed", plan->seed},
                        {"hash", plan->hash},           {"estimated_s", plan->estimated_s},
                        {"options", std::move(values)}, {"rules", check.lines}};
  all.update(programs_json(*scenario, permitted_by(args)));
  *context.out << json_text(all);
  return sound ? 0 : 1;
}

}  // namespace plumbline
