#include "cli/scenario_source.h"

#include <charconv>
#include <chrono>

#include "cli/vocabulary.h"

namespace plumbline {

std::optional<Scenario> read_scenario(const std::string& path, Context& context) {
  auto scenario = load_scenario(path, make_vocabulary());
  if (scenario) return std::move(*scenario);
  for (const ScenarioProblem& problem : scenario.error()) {
    *context.err << "plumbline: " << problem.where << ": " << problem.message;
    if (!problem.hint.empty()) *context.err << "; " << problem.hint;
    *context.err << "\n";
  }
  return std::nullopt;
}

std::optional<Plan> plan_of(const Scenario& scenario, const Args& args, Context& context) {
  uint64_t seed = scenario.seed.value_or(
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) &
      0xffffffff);
  if (args.has("seed")) {
    const std::string text = args.get("seed");
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (status != std::errc() || end != text.data() + text.size()) {
      usage_failure(context, Error{ErrorCode::kUsage, "--seed '" + text + "' is not a number", 0,
                                   "give a whole number from 0 on", ""});
      return std::nullopt;
    }
  }
  Expected<Plan> plan = make_plan(scenario, {args.all("only"), args.all("skip")}, seed);
  if (plan) return std::move(*plan);
  usage_failure(context, plan.error());
  return std::nullopt;
}

}  // namespace plumbline
