// `plumbline run`: probes, then the scenario's matrix over real processes, then the reports. What
// was finished is never lost: every cell is on disk before the next begins.

#include <unistd.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/launch_call.h"
#include "cli/named_inputs.h"
#include "cli/options_source.h"
#include "cli/plain_caller.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/run_request.h"
#include "cli/scenario_source.h"
#include "cli/vocabulary.h"
#include "reports/compare/compare.h"
#include "runs/conduct.h"
#include "runs/ranks/rank_places.h"
#include "runs/soak_run.h"

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
  PlainCaller caller(*context.err);
  return follow_launch(place, launch_call(args, *options, context, caller, "run", path));
}

void print_plans(const std::vector<PreparedRun>& runs, const Args& args, Context& context) {
  const PlanLook look = {args.has("verbose"), context.width, context.out_colour};
  for (const PreparedRun& run : runs) {
    print_plan(run.plan, look, *context.out);
    print_lines(run.rule_check.lines, context.width, *context.out);
    print_programs(run.scenario, run.asked.permitted, *context.out);
    if (run.asked.soak) *context.out << soak_outline(*run.asked.soak, run.plan);
  }
  const std::optional<Repeats>& repeats = runs.front().asked.repeats;
  if (repeats) *context.out << repeat_outline(*repeats);
}

void print_files(const std::vector<std::string>& paths, Context& context) {
  *context.out << "\n";
  for (const std::string& path : paths) *context.out << "Report:  " << path << "\n";
}

void print_comparison(const SidesCompared& compared, Context& context) {
  if (!compared.comparison) return;
  *context.out << "\n";
  render_text(compare_document(*compared.comparison), context.width, context.out_is_terminal,
              *context.out);
  print_files(compared.files, context);
}

int print_conducted(const Conducted& conducted, bool json, Context& context) {
  if (conducted.refused) return usage_failure(context, *conducted.refused);
  for (const RunOutcome& outcome : conducted.outcomes) {
    if (json) {
      *context.out << run_json(outcome);
    } else if (outcome.reported) {
      *context.out << outcome.shown;
      print_files(outcome.reports, context);
      *context.out << "Records: " << outcome.records << "\n";
    }
  }
  print_comparison(conducted.compared, context);
  *context.out << std::flush;
  return conducted.code;
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

// nullopt after printing why not, with the exit code in `code`.
std::optional<std::vector<PreparedRun>> prepare_all(std::vector<RunRequest> requests,
                                                    Caller& caller, Context& context, int& code) {
  std::vector<PreparedRun> runs;
  for (RunRequest& request : requests) {
    auto run = prepare_run(std::move(request), caller);
    if (!run) {
      usage_failure(context, run.error().errors);
      code = run.error().code;
      return std::nullopt;
    }
    runs.push_back(std::move(*run));
  }
  return runs;
}

}  // namespace

int run_run(const Args& given, Context& context) {
  const Expected<Args> named = with_earlier_folder(given);
  if (!named) return usage_failure(context, named.error());
  const Args& args = *named;
  if (const Status sound = check_json_flag(args); !sound) {
    return usage_failure(context, sound.error());
  }
  const Expected<RunFlags> flags = run_flags(args);
  if (!flags) return usage_failure(context, flags.error());
  if (const Status threads = check_ranks_in_process(args.has(kRanksInProcess), flags->place);
      !threads) {
    return rank_failure(flags->place, context, {threads.error()});
  }
  if (flags->place && flags->place->rank > 0) return follow_run(*flags->place, args, context);
  if (flags->place) {
    // Open MPI gives its ranks a terminal each, whatever mpirun itself writes to.
    if (context.out_is_terminal) context.out_colour = false;
    context.out_is_terminal = context.err_is_terminal = false;
    watch_interrupts();
  }
  RunScreen screen(context, args.has("quiet"));
  std::optional<std::vector<RunRequest>> requests = run_requests(args, *flags, context, screen);
  if (!requests) return 1;
  int code = 1;
  auto runs = prepare_all(std::move(*requests), screen, context, code);
  if (!runs) return code;
  if (flags->repeats) {
    std::vector<const Plan*> plans;
    for (const PreparedRun& run : *runs) plans.push_back(&run.plan);
    const std::string few = too_few_launches(*flags->repeats, plans);
    if (!few.empty()) *context.err << "plumbline: " << few << "\n";
  }
  if (args.has("dry-run")) {
    print_plans(*runs, args, context);
    return 0;
  }
  watch_interrupts();
  return print_conducted(conduct(std::move(*runs), screen), args.has("json"), context);
}

}  // namespace plumbline
