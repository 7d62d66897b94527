#include "cli/run_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/scenario_source.h"
#include "cli/vocabulary.h"
#include "core/host/process_facts.h"
#include "core/json.h"
#include "core/options/options.h"
#include "core/text.h"
#include "core/units.h"
#include "runs/plan_of.h"
#include "runs/prepared_run.h"
#include "runs/ranks/rank_places.h"
#include "runs/run_folder.h"
#include "scenarios/runner.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// The scenario at `path` with the flags that hold for all sides.
std::optional<RunRequest> request_of(const std::string& path, const Args& args,
                                     const RunFlags& flags, Context& context, Caller& caller) {
  std::optional<Scenario> scenario = read_scenario(path, args, context);
  if (!scenario) return std::nullopt;
  if (args.has("model") && args.has("no-probes")) {
    usage_failure(context, usage_error("--model and --no-probes exclude each other",
                                       "a model is looked at by the probe `artifact`"));
    return std::nullopt;
  }
  if (const Status models = add_models(args, *scenario); !models) {
    usage_failure(context, models.error());
    return std::nullopt;
  }
  auto options = resolve_options(args, scenario->config);
  if (!options) {
    usage_failure(context, options.error());
    return std::nullopt;
  }
  const Expected<std::string> program = own_program_path();
  if (!program) {
    usage_failure(context, program.error());
    return std::nullopt;
  }
  RunRequest request;
  request.program = *program;
  request.scenario = std::move(*scenario);
  request.options = std::move(*options);
  request.vocabulary = make_vocabulary(args.has(kRanksInProcess));
  request.filter = {args.all("only"), args.all("skip")};
  request.seed = flags.seed;
  request.folder = args.get("out");
  request.resume = args.has("resume");
  request.soak = flags.soak;
  request.repeats = flags.repeats;
  request.rules = rule_words(args);
  request.exclude = args.all("exclude");
  request.permitted = permitted_by(args);
  request.ranks_in_process = args.has(kRanksInProcess);
  request.probes = !args.has("no-probes");
  request.despite_findings = args.has("despite-findings");
  request.only_plan = args.has("dry-run");
  request.keep_history = !args.has("no-history");
  request.quiet = args.has("quiet");
  request.look = ReportLook{context.width, context.out_colour, context.out_is_terminal};
  if (args.has("json")) request.look.reset();
  request.command = context.argv;
  request.place = flags.place;
  if (flags.place) {
    request.launch = launch_call(args, request.options, context, caller, "run", path);
  }
  return request;
}

// Of both sides: that of an earlier part of the run, else a new one.
uint64_t seed_of_sides(const std::string& folder) {
  const auto earlier = read_records((fs::path(folder) / "a" / kRecordsFile).string());
  return earlier && !earlier->empty() ? earlier->front().seed : fresh_seed();
}

constexpr int kDefaultLaunches = 12;  // of --interleave: enough for a hundred cells

Expected<double> share_flag(const Args& args, const char* name, double otherwise, double least,
                            double most) {
  if (!args.has(name)) return otherwise;
  const Expected<double> value = parse_share(args.get(name));
  if (value && *value >= least && *value <= most) return *value;
  return fail(
      ErrorCode::kUsage, fmt::format("--{} '{}'", name, args.get(name)),
      fmt::format("takes a share from {:g}% to {:g}%, as 2% or 0.02", 100 * least, 100 * most));
}

}  // namespace

Expected<RunFlags> run_flags(const Args& args) {
  RunFlags flags;
  const Expected<std::optional<SoakPlan>> soak = soak_flags(args);
  if (!soak) return fail(soak.error());
  const Expected<std::optional<Repeats>> repeats = repeat_flags(args);
  if (!repeats) return fail(repeats.error());
  const Expected<std::optional<LauncherPlace>> place = own_launch(args);
  if (!place) return fail(place.error());
  if (*place && *repeats) return fail(no_repeat_under_launcher());
  const Expected<std::optional<uint64_t>> seed = seed_flag(args);
  if (!seed) return fail(seed.error());
  flags.soak = *soak;
  flags.repeats = *repeats;
  flags.place = *place;
  flags.seed = *seed;
  return flags;
}

RuleWords rule_words(const Args& args) { return {args.all("rules"), args.get("baseline")}; }

std::optional<std::vector<RunRequest>> run_requests(const Args& args, const RunFlags& flags,
                                                    Context& context, Caller& caller) {
  const std::vector<std::string> paths = args.all("scenario");
  std::vector<RunRequest> requests;
  for (const std::string& path : paths) {
    std::optional<RunRequest> request = request_of(path, args, flags, context, caller);
    if (!request) return std::nullopt;
    requests.push_back(std::move(*request));
  }
  if (requests.size() == 1) return requests;
  const std::string folder = args.get("out", default_folder("interleave"));
  const uint64_t seed = flags.seed ? *flags.seed : seed_of_sides(folder);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].side = i == 0 ? "a" : "b";
    requests[i].folder = (fs::path(folder) / requests[i].side).string();
    requests[i].seed = seed;
    if (i > 0) requests[i].keep_history = false;  // one entry for both
  }
  return requests;
}

Expected<std::optional<SoakPlan>> soak_flags(const Args& args) {
  if (!args.has("for")) {
    for (const char* name : {"every", "idle"}) {
      if (args.has(name)) {
        return fail(usage_error(fmt::format("--{} goes with --for only", name),
                                "say how long to go on: --for 8h"));
      }
    }
    return std::optional<SoakPlan>();
  }
  if (args.has("resume")) {
    return fail(usage_error(
        "--resume: a soak cannot be resumed: between its parts nobody looked at the hosts, and a "
        "change there would look like a drift",
        "start another one with its own --out; plumbline report soak DIR1 DIR2 shows both"));
  }
  const Expected<SoakPlan> plan = parse_soak(args.get("for"), args.get("every"), args.get("idle"));
  if (!plan) return fail(plan.error());
  return std::optional<SoakPlan>(*plan);
}

Expected<std::optional<Repeats>> repeat_flags(const Args& args) {
  const size_t scenarios = args.all("scenario").size();
  const bool two = args.has("interleave");
  if (scenarios > 2 || (scenarios == 2) != two) {
    return fail(
        usage_error(two ? "--interleave takes two scenarios" : "run takes one scenario",
                    "plumbline run --repeat 10 --interleave A.json B.json measures two in turns"));
  }
  if (!two && !args.has("repeat")) {
    if (!args.has("recheck")) return std::optional<Repeats>();
    return fail(
        usage_error("--recheck goes with --interleave only", "add --interleave A.json B.json"));
  }
  if (args.has("for")) {
    return fail(usage_error("--repeat and --interleave cannot be part of a soak (--for)",
                            "leave one of them out"));
  }
  Repeats flags;
  flags.two_sides = two;
  flags.strict = args.has("strict");
  const auto launches = flag_number(args, "repeat", two ? kDefaultLaunches : 1, 1, kMostLaunches);
  if (!launches) return fail(launches.error());
  const auto again = flag_number(args, "recheck", 0, 0, kMostLaunches);
  if (!again) return fail(again.error());
  const auto rule = compare_rule(args);
  if (!rule) return fail(rule.error());
  flags.launches = static_cast<int>(*launches);
  flags.again = static_cast<int>(*again);
  flags.rule = *rule;
  return std::optional<Repeats>(std::move(flags));
}

Error no_repeat_under_launcher() {
  return usage_error(
      "--repeat and --interleave need ranks that plumbline starts itself",
      "under mpirun, srun or torchrun start the whole program again for each launch, each "
      "with its own --out, and compare the folders");
}

std::vector<std::string> cell_fields() {
  const nlohmann::json cell = Cell{};
  std::vector<std::string> names;
  for (const auto& [name, value] : cell.items()) names.push_back(name);
  names.insert(names.end(), {"measure", "rate_bps", "hosts", "distribution"});
  return names;
}

Expected<CompareRule> compare_rule(const Args& args) {
  CompareRule rule;
  const auto effect = share_flag(args, "min-effect", rule.least_effect, 0, 10);
  if (!effect) return fail(effect.error());
  const auto alpha = share_flag(args, "alpha", rule.alpha, 0.0001, 0.5);
  if (!alpha) return fail(alpha.error());
  rule.least_effect = *effect;
  rule.alpha = *alpha;
  const std::vector<std::string> fields = cell_fields();
  for (const std::string& field : args.all("ignore")) {
    if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
      return fail(ErrorCode::kUsage, "--ignore '" + field + "': a cell has no such field",
                  near_or(field, fields, fmt::format("one of {}", fmt::join(fields, ", "))));
    }
    rule.ignore.insert(field);
  }
  return rule;
}

}  // namespace plumbline
