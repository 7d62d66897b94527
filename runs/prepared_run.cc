#include "runs/prepared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/clock.h"
#include "core/codec.h"
#include "core/file.h"
#include "core/log.h"
#include "core/text.h"
#include "reports/read_input.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/memory_check.h"
#include "runs/hosts/port_window.h"
#include "runs/plan_of.h"
#include "runs/ranks/rank_places.h"
#include "runs/run_folder.h"
#include "runs/tuning/tuning_use.h"
#include "scenarios/runner.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Error config_error(std::string what, std::string hint) {
  return Error{ErrorCode::kConfig, std::move(what), 0, std::move(hint), ""};
}

Status plan_with(PreparedRun& run, uint64_t seed, Caller& caller) {
  const RunRequest& asked = run.asked;
  Expected<Plan> plan = plan_of(run.scenario, run.options, asked.vocabulary, asked.filter, seed,
                                asked.quiet ? nullptr : &caller);
  if (!plan) return fail(plan.error());
  run.plan = std::move(*plan);
  return {};
}

// What an earlier part of this run left in its folder.
Status take_up(PreparedRun& run, Caller& caller) {
  std::vector<std::string> warnings;
  auto records = read_records(run.records_path, &warnings);
  for (const std::string& warning : warnings) caller.say("plumbline: " + warning);
  if (!records) return fail(records.error());
  const RunRequest& asked = run.asked;
  if (!records->empty() && !asked.seed && !run.scenario.seed) {
    // The order belongs to the plan: go on in the order of the first part.
    const Status planned = plan_with(run, records->front().seed, caller);
    if (!planned) return planned;
  }
  if (!records->empty() && records->front().launch.has_value() != asked.repeats.has_value()) {
    return fail(config_error("cannot resume: only one of the two runs repeats its cells",
                             "give the same --repeat and --interleave as before"));
  }
  auto finished = finished_cells(*records, run.plan, PLUMBLINE_VERSION);
  if (!finished) return fail(finished.error());
  run.finished = std::move(*finished);
  run.earlier = std::move(*records);
  return {};
}

// Opens the output folder and looks at what it holds.
Status prepare_folder(PreparedRun& run, Caller& caller) {
  std::error_code code;
  run.made_parent = !fs::exists(fs::absolute(run.folder, code).parent_path(), code);
  run.made_folder = fs::create_directories(run.folder, code);
  if (code) {
    return fail(config_error("create folder " + run.folder + ": " + code.message(),
                             "choose a writable folder with --out"));
  }
  // Before anything is looked at or written there.
  Expected<FileLock> lock =
      FileLock::take((fs::path(run.folder) / kFolderLock).string(), "the folder " + run.folder);
  if (!lock) return fail(lock.error());
  run.lock = std::move(*lock);
  const bool resume = run.asked.resume;
  const bool exists = fs::exists(run.records_path, code);
  if (exists && fs::file_size(run.records_path, code) > 0 && !resume) {
    return fail(config_error(run.records_path + " holds records of an earlier run",
                             "add --resume to go on with it, or choose another --out"));
  }
  return exists && resume ? take_up(run, caller) : Status();
}

// The scenario's hosts become the nodes where the launcher put the ranks.
Status take_launched(PreparedRun& run, Caller& caller) {
  const Logger log("coordinator", log_level(run.options), log_lines());
  LaunchCall call = run.asked.launch;
  call.options = &run.options;
  call.caller = &caller;
  Expected<std::unique_ptr<Launched>> launched =
      lead_launch(*run.asked.place, call, run.asked.program, log);
  if (!launched) return fail(launched.error());
  run.launched = std::move(*launched);
  if (!run.asked.quiet && !run.scenario.hosts.empty()) {
    caller.say("plumbline: these replace the hosts of the scenario");
  }
  run.scenario.hosts = run.launched->hosts;
  return {};
}

// Connections that shall lie idle must not be kept alive, unless the user wants it so.
Status let_lie_idle(PreparedRun& run) {
  if (!run.asked.soak || run.asked.soak->idle_ns.empty()) return {};
  if (run.options.origin("keepalive_s") != "default") return {};
  Expected<OptionSet> idle = run.options.with("keepalive_s", "0", "flag --idle");
  if (!idle) return fail(idle.error());
  run.options = std::move(*idle);
  return {};
}

Expected<const TransportRow*> transport_of(const Cell& cell, const OptionSet& options) {
  const std::string& asked = cell.transport;
  return find_transport(asked == "auto" ? options.text("transport") : asked, true);
}

// Whether the cell's ranks listen on ports.
bool takes_ports(const Cell& cell, const OptionSet& options) {
  const auto row = transport_of(cell, options);
  return !row || (*row)->takes_ports;
}

bool takes_ports(const Plan& plan, const OptionSet& options) {
  return std::any_of(plan.cells.begin(), plan.cells.end(),
                     [&](const PlanCell& planned) { return takes_ports(planned.cell, options); });
}

// Whoever named the transport: the block, the scenario, a flag or a variable.
Status links_have_addresses(const Plan& plan, const OptionSet& options) {
  for (const PlanCell& planned : plan.cells) {
    const Cell& cell = planned.cell;
    if (row(cell.kind).timing != CellTiming::kPairs || takes_ports(cell, options)) continue;
    const bool automatic = cell.transport == "auto";
    return fail(config_error("transport " +
                                 in_quotes(automatic ? options.text("transport") : cell.transport) +
                                 " of a link block: links are measured from address to address, "
                                 "and ranks that are threads of one process have none",
                             "give the block \"transport\": \"tcp\""));
  }
  return {};
}

// It tells cells apart, so that no option can say it for all of them.
Status blocks_say_compression(const PreparedRun& run) {
  const std::string& compression = run.options.text("compression");
  if (run.asked.cells || compression == kNoCodec) return {};
  return fail(config_error(fmt::format("compression = {} ({}) is said by the blocks of a scenario",
                                       compression, run.options.origin("compression")),
                           fmt::format("give a block \"compression\": \"{}\", or use `plumbline "
                                       "coll allreduce --compression {}`",
                                       compression, compression)));
}

// Where a block, the scenario, a flag or a variable asks for several connections per pair, the
// transport must be one that makes them.
Status streams_can_be_had(const Plan& plan, const OptionSet& options) {
  for (const PlanCell& planned : plan.cells) {
    const Cell& cell = planned.cell;
    const auto own = cell.params.find("streams");
    const std::string& streams = own != cell.params.end() ? own->second : options.text("streams");
    if (streams == "auto" || streams == "1") continue;
    const auto row = transport_of(cell, options);
    if (!row || (*row)->takes_streams) continue;
    return fail(
        config_error(fmt::format("streams = {}: transport {} joins a pair of ranks in one way only",
                                 streams, (*row)->name),
                     "leave streams at auto, or use transport tcp"));
  }
  return {};
}

// The longest window of ports that this plan will need, settled before anything starts.
Status settle_ports(PreparedRun& run, PortClaims& claims, Caller& caller) {
  if (run.launched) return {};  // of other machines: their ranks will see
  if (!takes_ports(run.plan, run.options)) return {};
  Expected<std::optional<MovedWindow>> moved =
      settle_window(run.options, run.scenario.hosts, largest_world(run.plan), claims);
  if (!moved) return fail(moved.error());
  if (!*moved) return {};
  run.options = std::move((*moved)->options);
  caller.say("plumbline: " + (*moved)->notice);
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

// Who takes part: the nodes of a launcher, or the hosts of the scenario less the excluded ones,
// with as many places as they have.
Status settle_hosts(PreparedRun& run, Caller& caller, int& code) {
  const RunRequest& asked = run.asked;
  // Inside a launcher there are none yet.
  const std::string first =
      run.scenario.hosts.empty() ? std::string() : run.scenario.hosts.front().name;
  const Status hosts =
      asked.place ? take_launched(run, caller) : exclude_hosts(asked.exclude, run.scenario.hosts);
  if (!hosts) {
    code = launch_exit_code(hosts.error());
    return hosts;
  }
  // It was the first host's address; another one begins now.
  if (run.scenario.hosts.front().name != first) run.scenario.coordinator.clear();
  const Status here = check_ranks_in_process(asked.ranks_in_process, run.scenario.hosts);
  if (!here) return here;
  if (asked.only_plan) {
    tell_uncounted_places(run.scenario.hosts, caller);
    return {};
  }
  if (!asked.place) {
    if (const Status keys = check_keys(run.scenario); !keys) return fail(keys.error());
    const Status programs = check_binaries(run.scenario.hosts, asked.permitted);
    if (!programs) return programs;
  }
  const Status counted = count_core_places(run.scenario.hosts, run.options, caller);
  if (!counted) code = 2;
  return counted;
}

// Which cells, and that there is memory for them.
std::vector<Error> settle_plan(PreparedRun& run, Caller& caller) {
  const RunRequest& asked = run.asked;
  const std::vector<ScenarioHost>& all = run.scenario.hosts;
  Status ready;
  if (asked.cells) {
    auto cells = asked.cells(all);
    if (!cells) return cells.error();
    run.plan.cells = std::move(*cells);
    run.plan.listed = true;
  } else {
    const uint64_t seed = asked.seed ? *asked.seed : run.scenario.seed.value_or(fresh_seed());
    ready = plan_with(run, seed, caller);
  }
  if (ready) ready = links_have_addresses(run.plan, run.options);
  if (ready) {
    const bool here = !run.launched && !any_by_ssh(all);
    ready = check_tuning(run.plan, run.options, all, asked.ranks_in_process,
                         here ? machine_text(read_host_facts()) : std::string());
  }
  if (ready) ready = streams_can_be_had(run.plan, run.options);
  if (ready) ready = fits_memory(run.plan, run.options, all, memory_here(all));
  return ready ? std::vector<Error>{} : std::vector<Error>{ready.error()};
}

Status check_keep(const PreparedRun& run) {
  const RunRequest& asked = run.asked;
  const bool traces = run.scenario.keep_traces != "never";
  if (run.keeps() || (!asked.soak && !asked.repeats && !asked.resume && !traces)) return {};
  return fail(ErrorCode::kUsage, "a soak, repeated cells, an earlier part and traces need a folder",
              "ask for one that is kept");
}

std::vector<Error> settle_rules(PreparedRun& run, Caller& caller) {
  const RunRequest& asked = run.asked;
  auto rules = read_rules(run.scenario.expect, asked.rules, asked.vocabulary);
  if (!rules) return rules.error();
  run.rules = std::move(*rules);
  note_unused_baseline({&run.rules}, asked.rules.baseline, caller);
  run.rule_check =
      check_rules(run.rules, run.scenario, run.options, asked.vocabulary, asked.filter, run.plan);
  for (const std::string& note : run.rule_check.notes) caller.say("plumbline: " + note);
  std::vector<Error> errors;
  for (const std::string& problem : run.rule_check.problems) {
    errors.push_back(config_error(problem, ""));
  }
  return errors;
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

tl::expected<PreparedRun, Refusal> prepare_run(RunRequest request, Caller& caller) {
  PreparedRun run;
  run.scenario = std::move(request.scenario);
  run.options = std::move(request.options);
  run.asked = std::move(request);
  int code = 1;
  Status ready = settle_hosts(run, caller, code);
  if (ready) ready = let_lie_idle(run);
  if (ready) ready = check_keep(run);
  if (ready) ready = blocks_say_compression(run);
  if (!ready) return tl::unexpected(Refusal{{ready.error()}, code});
  std::vector<Error> errors = settle_plan(run, caller);
  if (errors.empty()) errors = settle_rules(run, caller);
  if (!errors.empty()) return tl::unexpected(Refusal{std::move(errors), code});
  if (run.asked.soak) ready = check_soak(*run.asked.soak, run.plan);
  if (!ready) return tl::unexpected(Refusal{{ready.error()}, code});
  if (!run.keeps()) return run;
  run.folder = run.asked.folder.empty() ? default_folder(run.scenario.name) : run.asked.folder;
  run.records_path = (fs::path(run.folder) / kRecordsFile).string();
  return run;
}

std::vector<ChecklistItem> checklist_of(const PreparedRun& run) {
  std::vector<ChecklistItem> items;
  for (const ChecklistCall& call : run.scenario.checklist) {
    items.push_back({call.item, call.probes, matching_cells(run.plan, call.cells)});
  }
  return items;
}

Status open_folder(PreparedRun& run, PortClaims& claims, Caller& caller) {
  Status ready = prepare_folder(run, caller);
  if (ready) ready = settle_ports(run, claims, caller);
  return ready ? keep_story(run) : ready;
}

}  // namespace plumbline
