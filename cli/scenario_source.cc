#include "cli/scenario_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/named_inputs.h"
#include "cli/scenario_programs.h"
#include "cli/vocabulary.h"
#include "core/host/host.h"
#include "core/number.h"
#include "scenarios/host_files/host_file.h"

namespace plumbline {
namespace {

void print_problems(const std::vector<ScenarioProblem>& problems, Context& context) {
  for (const ScenarioProblem& problem : problems) {
    *context.err << "plumbline: " << to_line(problem) << "\n";
  }
}

// False after saying that the word is neither a file nor a scenario's name.
bool is_there(const std::string& word, Context& context) {
  const Status known = check_scenario_word(word);
  if (!known) usage_failure(context, known.error());
  return known.has_value();
}

// With --rounds; false after saying that it is no number.
bool limit_rounds(const Args& args, Scenario& scenario, Context& context) {
  const Expected<int64_t> rounds = flag_number(args, "rounds", INT64_MAX, 1, INT64_MAX);
  if (!rounds) {
    usage_failure(context, rounds.error());
    return false;
  }
  const auto most = static_cast<uint64_t>(*rounds);
  for (MatrixBlock& block : scenario.matrix) {
    block.stop.max_n = std::min(block.stop.max_n, most);
    block.stop.min_n = std::min(block.stop.min_n, most);
  }
  return true;
}

}  // namespace

std::optional<Scenario> read_scenario(const std::string& path, Context& context) {
  if (!is_there(path, context)) return std::nullopt;
  auto scenario = load_scenario(path, make_vocabulary());
  if (scenario) return std::move(*scenario);
  print_problems(scenario.error(), context);
  return std::nullopt;
}

std::optional<Scenario> read_scenario(const Args& args, Context& context) {
  std::optional<Scenario> scenario = read_scenario(args.get("scenario"), context);
  if (scenario && !limit_rounds(args, *scenario, context)) return std::nullopt;
  if (!scenario || !args.has("hosts")) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(args.get("hosts"), context);
  if (!hosts) return std::nullopt;
  scenario->hosts = std::move(*hosts);
  // A host that does not say how many ranks it has place for is read as 1.
  for (ScenarioHost& host : scenario->hosts) {
    if (host.ranks != 1 || scenario->ranks_per_host == 1) continue;
    host.ranks = scenario->ranks_per_host;
    host.ranks_of_cores = false;
  }
  return scenario;
}

std::optional<std::vector<ScenarioHost>> read_hosts(const std::string& path, Context& context) {
  if (!is_there(path, context)) return std::nullopt;
  auto hosts = load_hosts(path);
  if (hosts) return std::move(*hosts);
  print_problems(hosts.error(), context);
  return std::nullopt;
}

std::optional<Scenario> read_scenario_or_hosts(const Args& args, int local, Context& context) {
  const std::string path = args.get("file", args.get("hosts"));
  Scenario scenario;
  scenario.file = path;
  scenario.hosts = local_hosts(local);
  if (path.empty()) return scenario;
  std::optional<std::vector<ScenarioHost>> hosts = read_hosts(path, context);
  if (!hosts) return std::nullopt;
  if (const auto read = load_host_file(path); read && read->of_scenario) {
    if (const Status programs = check_binaries(*hosts, permitted_by(args)); !programs) {
      usage_failure(context, programs.error());
      return std::nullopt;
    }
  }
  if (auto whole = load_scenario(path, make_vocabulary())) return std::move(*whole);
  scenario.hosts = std::move(*hosts);
  return scenario;
}

uint64_t fresh_seed() {
  return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) &
         0xffffffff;
}

std::optional<Plan> plan_of(const Scenario& scenario, const OptionSet& options, const Args& args,
                            Context& context) {
  uint64_t seed = scenario.seed.value_or(fresh_seed());
  if (args.has("seed")) {
    const std::optional<uint64_t> given = parse_whole<uint64_t>(args.get("seed"));
    if (!given) {
      usage_failure(context, Error{ErrorCode::kUsage,
                                   fmt::format("--seed '{}' is not a whole number from 0 to {}",
                                               args.get("seed"), UINT64_MAX),
                                   0, "", ""});
      return std::nullopt;
    }
    seed = *given;
  }
  return plan_of(scenario, options, args, seed, context);
}

std::optional<Plan> plan_of(const Scenario& scenario, const OptionSet& options, const Args& args,
                            uint64_t seed, Context& context) {
  const int cores = read_host_facts().cores_usable;
  Expected<Plan> plan = make_plan(scenario, {args.all("only"), args.all("skip")}, seed,
                                  {make_vocabulary(), &options, cores});
  if (plan && plan->crowded > 0 && !args.has("quiet")) {
    *context.err << fmt::format(
        "plumbline: {} cells need more ranks than this machine has cores ({}) and are left out "
        "(\"oversubscribe\": false)\n",
        plan->crowded, cores);
  }
  if (plan) return std::move(*plan);
  usage_failure(context, plan.error());
  return std::nullopt;
}

}  // namespace plumbline
