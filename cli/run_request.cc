#include "cli/run_request.h"

#include <filesystem>
#include <utility>

#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/program_list.h"
#include "cli/run_flags.h"
#include "cli/scenario_source.h"
#include "cli/vocabulary.h"
#include "launch/process.h"
#include "runs/plan_of.h"
#include "runs/prepared_run.h"
#include "runs/ranks/ranks_in_process.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// The scenario at `path` with the flags that hold for all sides.
std::optional<RunRequest> request_of(const std::string& path, const Args& args,
                                     const RunFlags& flags, Context& context, Caller& caller) {
  std::optional<Scenario> scenario = read_scenario(path, args, context);
  if (!scenario) return std::nullopt;
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

}  // namespace plumbline
