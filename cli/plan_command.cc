// `plumbline plan`: what a scenario would measure, with an estimate of the time.

#include <fmt/format.h>

#include <cmath>

#include "cli/commands.h"
#include "cli/core_places.h"
#include "cli/memory_check.h"
#include "cli/options_source.h"
#include "cli/plan_text.h"
#include "cli/rule_source.h"
#include "cli/scenario_programs.h"
#include "cli/scenario_source.h"
#include "core/json.h"
#include "core/units.h"

namespace plumbline {

void print_plan(const Plan& plan, std::ostream& out) {
  size_t skipped = 0;
  for (const PlanCell& planned : plan.cells) {
    const Cell& cell = planned.cell;
    std::string line =
        fmt::format("{}  {:<10} {:<14} {:<18} {:<5} {:<8} {:>10} {:>2} ranks {}", planned.id,
                    cell.kind, cell.op, cell.measure.empty() ? cell.algorithm : cell.measure,
                    cell.dtype, cell.redop, format_bytes(cell.bytes), cell.ranks, cell.placement);
    if (!cell.hosts.empty()) line += "  on " + cell.hosts;
    if (!cell.distribution.empty()) line += "  " + cell.distribution;
    if (cell.outstanding > 1) line += fmt::format("  {} outstanding", cell.outstanding);
    if (!planned.skip.empty()) {
      ++skipped;
      line += "  skipped: " + planned.skip;
    }
    out << line << "\n";
  }
  out << fmt::format("{} cells ({} skipped), about {} s, seed {}, plan hash {}\n",
                     plan.cells.size(), skipped, std::lround(plan.estimated_s), plan.seed,
                     plan.hash.substr(0, 16));
}

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
    print_plan(*plan, *context.out);
    for (const std::string& line : check.lines) *context.out << line << "\n";
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
