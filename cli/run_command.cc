// `plumbline run`: probes, then the scenario's matrix over real processes, then the reports. What
// was finished is never lost: every cell is on disk before the next begins.

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/launch_call.h"
#include "cli/named_inputs.h"
#include "cli/options_source.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/repeat_run.h"
#include "cli/run_session.h"
#include "cli/scenario_programs.h"
#include "cli/scenario_source.h"
#include "cli/soak_run.h"
#include "cli/terminal.h"
#include "cli/vocabulary.h"
#include "core/sha256.h"
#include "launch/leftovers.h"
#include "runs/interrupts.h"
#include "runs/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// A rank other than 0. Its scenario file only tells where the ranks meet and what they must agree
// on; a node that does not have it takes part all the same.
int follow_run(const LauncherPlace& place, const Args& args, Context& context) {
  const std::string path = args.get("scenario");
  std::map<std::string, std::string> config;
  if (access(path.c_str(), R_OK) == 0) {
    const auto scenario = load_scenario(path, make_vocabulary());
    if (!scenario) {
      const std::string first = to_line(scenario.error().front());
      return rank_failure(place, context, {Error{ErrorCode::kConfig, first, 0, "", ""}});
    }
    config = scenario->config;
  }
  const auto options = resolve_options(args, config);
  if (!options) return rank_failure(place, context, options.error());
  return follow_launch(place, launch_call(args, *options, context, "run", path));
}

// One scenario, or the two of --interleave with the files of each in a folder of its own, and the
// cells of both in the same order.
struct SideArgs {
  std::string name;  // "", or "a" and "b"
  Args args;
};
std::vector<SideArgs> sides_of(const Args& args) {
  const std::vector<std::string> paths = args.all("scenario");
  if (paths.size() == 1) return {{"", args}};
  const std::string folder = args.get("out", default_folder("interleave"));
  std::string seed = args.get("seed");
  if (seed.empty()) {
    const auto earlier = read_records((fs::path(folder) / "a" / kRecordsFile).string());
    seed = std::to_string(earlier && !earlier->empty() ? earlier->front().seed : fresh_seed());
  }
  std::vector<SideArgs> sides = {{"a", args}, {"b", args}};
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i].args.add("scenario", paths[i]);
    sides[i].args.add("out", (fs::path(folder) / sides[i].name).string());
    sides[i].args.add("seed", seed);
    if (i > 0) sides[i].args.add("no-history", "");  // one entry for both
  }
  return sides;
}

Expected<RunSummary> run_rounds(const SoakRunSpec& spec, CellRunner& ranks) {
  const Expected<SoakSummary> done = soak(spec, ranks);
  if (!done) return fail(done.error());
  return done->counts;
}

int measure_once(RunSession& session, bool quiet, Progress& progress, Context& context) {
  const PreparedRun& run = session.prepared();
  session.request().progress = [&](const RunProgress& state) {
    if (!quiet) progress.show(state);
  };
  Expected<RunSummary> summary =
      run.soak ? run_rounds({*run.soak, session.request(), session.agents(), session.job(),
                             run.folder, quiet, &progress, &context},
                            session.ranks())
               : run_plan(session.request(), session.ranks());
  session.world().stop();
  progress.finish();
  return summary ? session.finish(std::move(*summary)) : session.fail_with(summary.error());
}

int measure_repeatedly(std::deque<RunSession>& sessions, const std::vector<SideArgs>& sides,
                       const RepeatFlags& flags, bool quiet, Progress& progress, Context& context) {
  RepeatRun repeated(flags, quiet, progress, context);
  for (size_t i = 0; i < sessions.size(); ++i) {
    RunSession& session = sessions[i];
    repeated.add({sides[i].name, session.request(), &session.ranks(),
                  [&session] { session.world().stop(); }, session.prepared().earlier},
                 session.prepared().records_path);
  }
  const Expected<RepeatSummary> summary = repeated.measure();
  progress.finish();
  int code = 0;
  for (RunSession& session : sessions) {
    code = worse_exit_code(
        code, summary ? session.finish(summary->counts) : session.fail_with(summary.error()));
  }
  return summary ? worse_exit_code(code, repeated.compare()) : code;
}

void print_plans(std::deque<RunSession>& sessions, const std::optional<RepeatFlags>& repeat,
                 const Args& args, Context& context) {
  const PlanLook look = {args.has("verbose"), context.width, context.out_colour};
  const Permitted permitted = permitted_by(args);
  for (RunSession& session : sessions) {
    const PreparedRun& run = session.prepared();
    print_plan(run.plan, look, *context.out);
    print_lines(run.rule_check.lines, context.width, *context.out);
    print_programs(run.scenario, permitted, *context.out);
    if (run.soak) *context.out << soak_outline(*run.soak, run.plan);
  }
  if (repeat) *context.out << repeat_outline(*repeat);
}

// One object says how one run ended.
Status check_json_flag(const Args& args) {
  if (!args.has("json")) return {};
  if (args.has("dry-run")) {
    return fail(ErrorCode::kUsage, "--dry-run measures nothing that --json could report",
                "plumbline plan --json shows the plan");
  }
  if (!args.has("interleave")) return {};
  return fail(ErrorCode::kUsage, "--interleave makes two runs, and --json reports one",
              "plumbline compare --json shows what --interleave measured, by its folder");
}

// What --resume goes on with may be named as a run of the list.
Expected<Args> with_earlier_folder(Args args) {
  std::error_code code;
  const std::string word = args.get("out");
  const bool named = args.has("resume") && !word.empty() && word.find('/') == std::string::npos &&
                     !fs::exists(word, code);
  if (!named) return args;
  const Expected<std::string> folder = folder_of_run(word);
  if (!folder) return fail(folder.error());
  if (!folder->empty()) args.add("out", *folder);
  return args;
}

}  // namespace

int run_run(const Args& given, Context& context) {
  const Expected<Args> named = with_earlier_folder(given);
  if (!named) return usage_failure(context, named.error());
  const Args& args = *named;
  if (const Status sound = check_json_flag(args); !sound) {
    return usage_failure(context, sound.error());
  }
  const Expected<std::optional<SoakPlan>> soak_plan = soak_flags(args);
  if (!soak_plan) return usage_failure(context, soak_plan.error());
  const Expected<std::optional<RepeatFlags>> repeat = repeat_flags(args);
  if (!repeat) return usage_failure(context, repeat.error());
  const Expected<std::optional<LauncherPlace>> place = own_launch(args);
  if (!place) return usage_failure(context, place.error());
  if (*place && *repeat) return usage_failure(context, no_repeat_under_launcher());
  if (*place && (*place)->rank > 0) return follow_run(**place, args, context);
  // Open MPI gives its ranks a terminal each, whatever mpirun itself writes to.
  if (*place && context.out_is_terminal) context.out_colour = false;
  if (*place) context.out_is_terminal = context.err_is_terminal = false;
  const bool quiet = args.has("quiet");
  Progress progress(
      *context.err, context.err_is_terminal, [] { return terminal_width(STDERR_FILENO); },
      context.colour);
  PortClaims claims;
  std::deque<RunSession> sessions;  // their ranks may speak until the end
  const std::vector<SideArgs> sides = sides_of(args);
  for (const SideArgs& side : sides) {
    int code = 1;
    std::optional<PreparedRun> run = prepare_run(*place, *soak_plan, side.args, context, code);
    if (!run) return code;
    sessions.emplace_back(std::move(*run), side.args, context);
  }
  std::string few;
  if (*repeat) {
    std::vector<const Plan*> plans;
    for (RunSession& session : sessions) plans.push_back(&session.prepared().plan);
    few = too_few_launches(**repeat, plans);
  }
  if (!few.empty()) *context.err << "plumbline: " << few << "\n";
  if (args.has("dry-run")) {
    print_plans(sessions, *repeat, args, context);
    return 0;
  }
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());
  watch_interrupts();
  const std::string run_id = to_hex(random_token()).substr(0, 16);
  setenv(kRunIdVariable, run_id.c_str(), 1);  // for what we start here
  for (size_t i = 0; i < sessions.size(); ++i) {
    const PreparedRun* other =
        sessions.size() == 2 ? &sessions[sessions.size() - 1 - i].prepared() : nullptr;
    const RunPart part = {run_id, *repeat ? (*repeat)->launches : 1, other, &claims};
    if (const auto code = sessions[i].open(part)) return *code;
  }
  const Logger log("coordinator", log_level(sessions.front().prepared().options),
                   [&progress](const std::string& line) { progress.line(line); });
  for (RunSession& session : sessions) {
    if (const auto code = session.reach(*program, run_id, log, progress)) return *code;
  }
  if (!*repeat) return measure_once(sessions.front(), quiet, progress, context);
  return measure_repeatedly(sessions, sides, **repeat, quiet, progress, context);
}

}  // namespace plumbline
