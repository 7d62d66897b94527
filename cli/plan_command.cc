// `plumbline plan`: what a scenario would measure, with an estimate of the time.

#include "cli/commands.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/plan_text.h"
#include "cli/run_request.h"
#include "cli/scenario_source.h"
#include "cli/vocabulary.h"
#include "core/json.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/memory_check.h"
#include "runs/plan_of.h"
#include "runs/ranks/rank_places.h"
#include "runs/rule_source.h"

namespace plumbline {

int run_plan(const Args& args, Context& context) {
  const std::optional<Scenario> scenario = read_scenario(args.get("scenario"), args, context);
  if (!scenario) return 1;
  const auto options = resolve_options(args, scenario->config);
  if (!options) return usage_failure(context, options.error());
  PlainCaller caller(*context.err);
  tell_uncounted_places(scenario->hosts, caller);
  const Expected<std::optional<uint64_t>> seed = seed_flag(args);
  if (!seed) return usage_failure(context, seed.error());
  const Vocabulary vocabulary = make_vocabulary(args.has(kRanksInProcess));
  const PlanFilter filter = {args.all("only"), args.all("skip")};
  const Expected<Plan> plan = plan_of(*scenario, *options, vocabulary, filter,
                                      seed->value_or(scenario->seed.value_or(fresh_seed())),
                                      args.has("quiet") ? nullptr : &caller);
  if (!plan) return usage_failure(context, plan.error());
  const RuleWords words = rule_words(args);
  auto rules = read_rules(scenario->expect, words, vocabulary);
  if (!rules) return usage_failure(context, rules.error());
  note_unused_baseline({&*rules}, words.baseline, caller);
  const RuleCheck check = check_rules(*rules, *scenario, *options, vocabulary, filter, *plan);
  for (const std::string& problem : check.problems) caller.say("plumbline: " + problem);
  for (const std::string& note : check.notes) caller.say("plumbline: " + note);
  bool sound = check.problems.empty();
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
