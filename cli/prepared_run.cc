#include "cli/prepared_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/core_places.h"
#include "cli/launch_call.h"
#include "cli/options_source.h"
#include "cli/scenario_programs.h"
#include "cli/scenario_source.h"
#include "core/clock.h"
#include "core/text_file.h"
#include "launch/leftovers.h"
#include "reports/run_folder.h"
#include "runs/hosts/memory_check.h"
#include "runs/hosts/port_window.h"
#include "runs/interrupts.h"
#include "runs/run_folder.h"
#include "scenarios/runner.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Error config_error(std::string what, std::string hint) {
  return Error{ErrorCode::kConfig, std::move(what), 0, std::move(hint), ""};
}

// Opens the output folder and looks at what it holds; nullopt after printing why it cannot be used.
bool prepare_folder(PreparedRun& run, const Args& args, Context& context) {
  std::error_code code;
  run.made_parent = !fs::exists(fs::absolute(run.folder, code).parent_path(), code);
  run.made_folder = fs::create_directories(run.folder, code);
  if (code) {
    usage_failure(context, config_error("create folder " + run.folder + ": " + code.message(),
                                        "choose a writable folder with --out"));
    return false;
  }
  // Before anything is looked at or written there.
  Expected<FileLock> lock =
      FileLock::take((fs::path(run.folder) / kFolderLock).string(), "the folder " + run.folder);
  if (!lock) {
    usage_failure(context, lock.error());
    return false;
  }
  run.lock = std::move(*lock);
  const bool resume = args.has("resume");
  const bool exists = fs::exists(run.records_path, code);
  if (exists && fs::file_size(run.records_path, code) > 0 && !resume) {
    usage_failure(context, config_error(run.records_path + " holds records of an earlier run",
                                        "add --resume to go on with it, or choose another --out"));
    return false;
  }
  if (!exists || !resume) return true;
  std::vector<std::string> warnings;
  auto records = read_records(run.records_path, &warnings);
  for (const std::string& warning : warnings) *context.err << "plumbline: " << warning << "\n";
  if (!records) {
    usage_failure(context, records.error());
    return false;
  }
  if (!records->empty() && !args.has("seed") && !run.scenario.seed) {
    // The order belongs to the plan: go on in the order of the first part.
    std::optional<Plan> plan =
        plan_of(run.scenario, run.options, args, records->front().seed, context);
    if (!plan) return false;
    run.plan = std::move(*plan);
  }
  if (!records->empty() &&
      records->front().launch.has_value() != (args.has("repeat") || args.has("interleave"))) {
    usage_failure(context, config_error("cannot resume: only one of the two runs repeats its cells",
                                        "give the same --repeat and --interleave as before"));
    return false;
  }
  auto finished = finished_cells(*records, run.plan, PLUMBLINE_VERSION);
  if (!finished) {
    usage_failure(context, finished.error());
    return false;
  }
  run.finished = std::move(*finished);
  run.earlier = std::move(*records);
  return true;
}

// The scenario's hosts become the nodes where the launcher put the ranks.
Status take_launched(PreparedRun& run, const LauncherPlace& place, const Args& args,
                     Context& context) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  watch_interrupts();
  const Logger log("coordinator", log_level(run.options));
  Expected<std::unique_ptr<Launched>> launched = lead_launch(
      place, launch_call(args, run.options, context, "run", args.get("scenario")), *program, log);
  if (!launched) return fail(launched.error());
  run.launched = std::move(*launched);
  run.scenario.hosts = run.launched->hosts;
  if (!args.has("quiet")) {
    *context.err << "plumbline: these replace the hosts of the scenario\n";
  }
  return {};
}

// Connections that shall lie idle must not be kept alive, unless the user wants it so.
Status let_lie_idle(PreparedRun& run) {
  if (!run.soak || run.soak->idle_ns.empty()) return {};
  if (run.options.origin("keepalive_s") != "default") return {};
  Expected<OptionSet> idle = run.options.with("keepalive_s", "0", "flag --idle");
  if (!idle) return fail(idle.error());
  run.options = std::move(*idle);
  return {};
}

// The longest window of ports that this plan will need, settled before anything starts.
Status settle_ports(PreparedRun& run, PortClaims& claims, Context& context) {
  if (run.launched) return {};  // of other machines: their ranks will see
  Expected<std::optional<MovedWindow>> moved =
      settle_window(run.options, run.scenario.hosts, largest_world(run.plan), claims);
  if (!moved) return fail(moved.error());
  if (!*moved) return {};
  run.options = std::move((*moved)->options);
  *context.err << "plumbline: " << (*moved)->notice << "\n";
  return {};
}

// What a report of this folder will need later, beside the records.
Status keep_story(const PreparedRun& run) {
  const fs::path folder = run.folder;
  Status kept = write_text_file((folder / kScenarioFile).string(), run.scenario.text);
  if (kept && !run.scenario.checklist.empty()) {
    kept = write_text_file((folder / kChecklistFile).string(), checklist_json(checklist_of(run)));
  }
  return kept ? keep_rules(run.folder, run.rules.rules) : kept;
}

}  // namespace

std::string default_folder(const std::string& name) {
  std::string time = utc_now_rfc3339().substr(0, 19);  // 2026-11-20T05:06:07
  std::erase_if(time, [](char c) { return c == ':' || c == '-'; });
  // Nobody's folder is taken for ours: not that of a run of the same second, nor, where the file
  // system takes A for a, that of a scenario of such a name.
  const std::string plain = "plumbline-out/" + name + "-" + time;
  std::string folder = plain;
  std::error_code code;
  for (int i = 2; fs::exists(folder, code); ++i) folder = plain + "_" + std::to_string(i);
  return folder;
}

std::optional<PreparedRun> prepare_run(const std::optional<LauncherPlace>& place,
                                       const std::optional<SoakPlan>& soak_plan, const Args& args,
                                       Context& context, int& code) {
  code = 1;
  std::optional<Scenario> scenario = read_scenario(args, context);
  if (!scenario) return std::nullopt;
  auto options = resolve_options(args, scenario->config);
  if (!options) {
    usage_failure(context, options.error());
    return std::nullopt;
  }
  PreparedRun run;
  run.scenario = std::move(*scenario);
  run.options = std::move(*options);
  const Status hosts = place ? take_launched(run, *place, args, context)
                             : exclude_hosts(args.all("exclude"), run.scenario.hosts);
  if (!hosts) {
    usage_failure(context, hosts.error());
    code = launch_exit_code(hosts.error());
    return std::nullopt;
  }
  if (args.has("dry-run")) {  // which only shows them
    tell_uncounted_places(run.scenario.hosts, context);
  } else {
    const Status programs =
        place ? Status() : check_binaries(run.scenario.hosts, permitted_by(args));
    if (!programs) {
      usage_failure(context, programs.error());
      return std::nullopt;
    }
    const Status counted = count_core_places(run.scenario.hosts, run.options, context);
    if (!counted) {
      usage_failure(context, counted.error());
      code = 2;
      return std::nullopt;
    }
  }
  run.soak = soak_plan;
  if (const Status idle = let_lie_idle(run); !idle) {
    usage_failure(context, idle.error());
    return std::nullopt;
  }
  std::optional<Plan> plan = plan_of(run.scenario, run.options, args, context);
  if (!plan) return std::nullopt;
  run.plan = std::move(*plan);
  const std::vector<ScenarioHost>& all = run.scenario.hosts;
  if (const Status fits = fits_memory(run.plan, run.options, all, memory_here(all)); !fits) {
    usage_failure(context, fits.error());
    return std::nullopt;
  }
  std::optional<RuleRequest> rules = read_rules(run.scenario.expect, args, context);
  if (!rules) return std::nullopt;
  run.rules = std::move(*rules);
  if (!check_rules(run.rules, run.scenario, run.options, run.plan, args, context, run.rule_check)) {
    return std::nullopt;
  }
  if (run.soak) {
    if (const Status fits = check_soak(*run.soak, run.plan); !fits) {
      usage_failure(context, fits.error());
      return std::nullopt;
    }
  }
  run.folder = args.get("out", default_folder(run.scenario.name));
  run.records_path = (fs::path(run.folder) / kRecordsFile).string();
  return run;
}

int largest_world(const Plan& plan) {
  int ranks = 1;
  for (const PlanCell& planned : plan.cells) ranks = std::max(ranks, planned.cell.ranks);
  return ranks;
}

std::vector<ChecklistItem> checklist_of(const PreparedRun& run) {
  std::vector<ChecklistItem> items;
  for (const ChecklistCall& call : run.scenario.checklist) {
    items.push_back({call.item, call.probes, matching_cells(run.plan, call.cells)});
  }
  return items;
}

bool open_folder(PreparedRun& run, const Args& args, PortClaims& claims, Context& context) {
  if (!prepare_folder(run, args, context)) return false;
  Status ready = settle_ports(run, claims, context);
  if (ready) ready = keep_story(run);
  if (ready) return true;
  usage_failure(context, ready.error());
  return false;
}

}  // namespace plumbline
