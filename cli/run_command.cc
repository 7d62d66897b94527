// `plumbline run`: probes, then the scenario's matrix over real processes, then the reports. What
// was finished is never lost: every cell is on disk before the next begins.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/doctor_run.h"
#include "cli/exit_code.h"
#include "cli/interrupts.h"
#include "cli/launched.h"
#include "cli/options_source.h"
#include "cli/plan_text.h"
#include "cli/port_window.h"
#include "cli/progress.h"
#include "cli/repeat_run.h"
#include "cli/report_output.h"
#include "cli/scenario_source.h"
#include "cli/soak_run.h"
#include "cli/status_line.h"
#include "cli/traced_runner.h"
#include "cli/vocabulary.h"
#include "cli/world.h"
#include "core/sha256.h"
#include "launch/leftovers.h"
#include "reports/doctor.h"
#include "reports/read_input.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string default_folder(const std::string& name) {
  std::string time = utc_now_rfc3339().substr(0, 19);  // 2026-11-20T05:06:07
  std::erase_if(time, [](char c) { return c == ':' || c == '-'; });
  return "plumbline-out/" + name + "-" + time;
}

// Everything a run needs, made before anything starts.
struct Prepared {
  Scenario scenario;
  OptionSet options;
  Plan plan;
  std::string folder;
  std::string records_path;
  std::set<std::string> finished;      // cells that --resume found done
  std::vector<Record> earlier;         // their records
  std::unique_ptr<Launched> launched;  // the ranks that a launcher started, if one did
  std::optional<SoakPlan> soak;        // --for
};

Error config_error(std::string what, std::string hint) {
  return Error{ErrorCode::kConfig, std::move(what), 0, std::move(hint), ""};
}

// Opens the output folder and looks at what it holds; nullopt after printing why it cannot be used.
bool prepare_folder(Prepared& run, const Args& args, Context& context) {
  std::error_code code;
  fs::create_directories(run.folder, code);
  if (code) {
    usage_failure(context, config_error("create folder " + run.folder + ": " + code.message(),
                                        "choose a writable folder with --out"));
    return false;
  }
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
Status take_launched(Prepared& run, const LauncherPlace& place, const Args& args,
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
Status let_lie_idle(Prepared& run) {
  if (!run.soak || run.soak->idle_ns.empty()) return {};
  if (run.options.origin("keepalive_s") != "default") return {};
  Expected<OptionSet> idle = run.options.with("keepalive_s", "0", "flag --idle");
  if (!idle) return fail(idle.error());
  run.options = std::move(*idle);
  return {};
}

// nullopt after printing why, with the exit code in `code`.
std::optional<Prepared> prepare(const std::optional<LauncherPlace>& place,
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
  Prepared run;
  run.scenario = std::move(*scenario);
  run.options = std::move(*options);
  const Status hosts =
      place ? take_launched(run, *place, args, context) : exclude_hosts(args, run.scenario.hosts);
  if (!hosts) {
    usage_failure(context, hosts.error());
    code = launch_exit_code(hosts.error());
    return std::nullopt;
  }
  run.soak = soak_plan;
  if (const Status idle = let_lie_idle(run); !idle) {
    usage_failure(context, idle.error());
    return std::nullopt;
  }
  std::optional<Plan> plan = plan_of(run.scenario, run.options, args, context);
  if (!plan) return std::nullopt;
  run.plan = std::move(*plan);
  if (run.soak) {
    if (const Status fits = check_soak(*run.soak, run.plan); !fits) {
      usage_failure(context, fits.error());
      return std::nullopt;
    }
  }
  run.folder = args.get("out", default_folder(run.scenario.name));
  run.records_path = (fs::path(run.folder) / "records.jsonl").string();
  return run;
}

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

int largest_world(const Plan& plan) {
  int ranks = 1;
  for (const PlanCell& planned : plan.cells) ranks = std::max(ranks, planned.cell.ranks);
  return ranks;
}

// The longest window of ports that this plan will need, checked before anything starts.
Status check_ports(const Prepared& run) {
  if (run.launched) return {};  // of other machines: their ranks will see
  const Expected<int> base =
      choose_port_base(run.options, run.scenario.hosts, largest_world(run.plan));
  if (!base) return fail(base.error());
  return {};
}

bool wants_traces(const Prepared& run) { return run.scenario.keep_traces != "never"; }

DiagnoseRequest ladder_of(const Prepared& run, const std::string& program) {
  DiagnoseRequest request;
  request.scenario = &run.scenario;
  request.options = &run.options;
  request.program = program;
  request.ranks = largest_world(run.plan);
  for (const ProbeCall& call : run.scenario.probes) {
    request.calls.push_back({call.probe, call.params});
  }
  request.trace_folder = (fs::path(run.folder) / "traces").string();
  request.keep_traces = run.scenario.keep_traces;
  return request;
}

ProbeResult probe_first(const Prepared& run, const DiagnoseRequest& ladder, const AgentSet& agents,
                        const Args& args, Context& context) {
  StatusLine line(*context.err, context.err_is_terminal && !args.has("quiet"), context.width);
  DiagnoseRequest request = ladder;
  request.progress = [&line](const std::string& text) { line.show(text); };
  ProbeResult result = diagnose(request, agents);
  line.clear();
  std::ofstream file(fs::path(run.folder) / "doctor.json");
  file << doctor_json(report_of(result));
  std::ofstream evidence(fs::path(run.folder) / "evidence.json");
  evidence << evidence_text(result.evidence);
  if (!args.has("quiet")) print_findings(result, *context.err);
  return result;
}

std::vector<ChecklistItem> checklist_of(const Prepared& run) {
  std::vector<ChecklistItem> items;
  for (const ChecklistCall& call : run.scenario.checklist) {
    items.push_back({call.item, call.probes, matching_cells(run.plan, call.cells)});
  }
  return items;
}

int finish(const Prepared& run, RunSummary summary, const ProbeResult& probed, const Args& args,
           Context& context) {
  ReportInput input;
  input.checks = probed.checks;
  input.findings = probed.findings;
  input.checklist = checklist_of(run);
  // A run that was interrupted before its first cell ended has no record; here that is no error.
  std::error_code unknown;
  const bool empty = fs::file_size(run.records_path, unknown) == 0 && !unknown;
  if (const Status read = empty ? Status() : read_report_input({run.records_path}, input); !read) {
    usage_failure(context, read.error());
    return 2;
  }
  if (summary.interrupted) input.notes.push_back("interrupted: the rest was not measured");
  if (!summary.stopped.empty()) input.notes.push_back(summary.stopped);
  std::vector<std::string> reports = run.scenario.report;
  if (run.soak) reports.emplace_back("soak");
  // Of two sides the screen shows the comparison.
  if (args.has("interleave")) std::erase(reports, "console");
  const std::vector<std::string> paths = write_reports(input, reports, run.folder, context);
  *context.out << "\n";
  for (const std::string& path : paths) *context.out << "Report:  " << path << "\n";
  *context.out << "Records: " << run.records_path << "\n" << std::flush;
  // What an earlier part of this run found wrong is still wrong.
  for (const Record& record : run.earlier) {
    if (run.finished.count(cell_id(record)) > 0) count(summary, record);
  }
  const int code = exit_code(summary);
  return code == 0 && has_failure(probed) ? 2 : code;
}

Expected<RunSummary> run_rounds(const SoakRunSpec& spec, CellRunner& ranks) {
  const Expected<SoakSummary> done = soak(spec, ranks);
  if (!done) return fail(done.error());
  return done->counts;
}

// A broken pair gives no result that anybody could trust.
int refuse(const Prepared& run, const ProbeResult& probed, const Args& args, Context& context) {
  *context.err << "plumbline: not measured, because the probes found what breaks it ("
               << (fs::path(run.folder) / "doctor.json").string()
               << "); heal it, or add --despite-findings\n";
  return finish(run, RunSummary{}, probed, args, context);
}

// One scenario that is being measured: its files, its agents, its ranks. Address-stable, because
// the request and the ranks point into it.
struct Session {
  Prepared run;
  std::optional<RecordFile> file;
  Reach reach;
  DiagnoseRequest ladder;
  std::optional<AgentSet> agents;
  ProbeResult probed;
  std::optional<World> world;
  std::optional<TracedRunner> traced;
  RunRequest request;

  CellRunner& ranks() { return traced ? static_cast<CellRunner&>(*traced) : *world; }
};

// Checks what can be checked before anything starts, and opens the record file; an exit code when
// that fails.
std::optional<int> open_files(Session& session, const Args& args, Context& context) {
  Prepared& run = session.run;
  if (!prepare_folder(run, args, context)) return 1;
  if (const Status ports = check_ports(run); !ports) return usage_failure(context, ports.error());
  Expected<RecordFile> file = RecordFile::open(run.records_path);
  if (!file) return usage_failure(context, file.error());
  session.file = std::move(*file);
  return std::nullopt;
}

// Reaches the hosts and probes them; an exit code when the run ends here.
std::optional<int> reach_hosts(Session& session, const std::string& program,
                               const std::string& run_id, const Args& args, Context& context) {
  Prepared& run = session.run;
  session.ladder = ladder_of(run, program);
  std::optional<AgentSet>& agents = session.agents;
  const bool probes = !args.has("no-probes") && !run.scenario.probes.empty();
  Expected<Reach> reach = make_reach(program, run.options, run.scenario.hosts, *context.err);
  if (!reach) return usage_failure(context, reach.error());
  reach->run_id = run_id;
  session.reach = std::move(*reach);
  if (probes || run.soak || wants_traces(run) || any_by_ssh(run.scenario.hosts) ||
      wants_data_addresses(run.scenario.hosts)) {
    if (run.launched) {
      reach_agents(*run.launched, session.reach, run.options, agents);
    } else {
      agents.emplace(run.scenario.hosts, session.reach, run.options);
    }
  }
  if (agents) {
    if (auto found = agents->find_data_addresses()) {
      run.scenario.hosts = std::move(*found);
    } else {
      // The control network is never measured in their place.
      usage_failure(context, found.error());
      return 2;
    }
  }
  if (probes) session.probed = probe_first(run, session.ladder, *agents, args, context);
  if (!probes && agents && agents->first_failure()) {
    usage_failure(context, *agents->first_failure());
    return 2;
  }
  if (has_failure(session.probed) && !args.has("despite-findings")) {
    return refuse(run, session.probed, args, context);
  }
  return std::nullopt;
}

// The ranks, not started yet, and what will be asked of them.
void ready_ranks(Session& session, const std::string& run_id, const Logger& log, Context& context) {
  Prepared& run = session.run;
  session.world.emplace(WorldSpec{session.reach, run.scenario.hosts, run.options, context.argv,
                                  run.plan.hash, &log, run.launched.get()});
  if (wants_traces(run)) {
    session.traced.emplace(*session.world, run.scenario, *session.agents,
                           job_of(session.ladder).ports, session.ladder.trace_folder,
                           run.scenario.keep_traces);
  }
  RunRequest& request = session.request;
  request.scenario = &run.scenario;
  request.plan = &run.plan;
  request.run_id = run_id;
  request.command = context.argv;
  request.finished_ids = run.finished;
  request.file = &*session.file;
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
    const auto earlier = read_records((fs::path(folder) / "a" / "records.jsonl").string());
    seed = std::to_string(earlier && !earlier->empty() ? earlier->front().seed : fresh_seed());
  }
  std::vector<SideArgs> sides = {{"a", args}, {"b", args}};
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i].args.add("scenario", paths[i]);
    sides[i].args.add("out", (fs::path(folder) / sides[i].name).string());
    sides[i].args.add("seed", seed);
  }
  return sides;
}

Expected<RunSummary> measure_once(Session& session, const std::optional<SoakPlan>& soak_plan,
                                  bool quiet, Progress& progress, Context& context) {
  session.request.progress = [&](const RunProgress& state) {
    if (!quiet) progress.show(state);
  };
  if (!soak_plan) return run_plan(session.request, session.ranks());
  return run_rounds({*soak_plan, session.request, &*session.agents, job_of(session.ladder),
                     session.run.folder, quiet, &progress, &context},
                    session.ranks());
}

}  // namespace

int run_run(const Args& args, Context& context) {
  const Expected<std::optional<SoakPlan>> soak_plan = soak_flags(args);
  if (!soak_plan) return usage_failure(context, soak_plan.error());
  const Expected<std::optional<RepeatFlags>> repeat = repeat_flags(args);
  if (!repeat) return usage_failure(context, repeat.error());
  const Expected<std::optional<LauncherPlace>> place = own_launch(args);
  if (!place) return usage_failure(context, place.error());
  if (*place && *repeat) return usage_failure(context, no_repeat_under_launcher());
  if (*place && (*place)->rank > 0) return follow_run(**place, args, context);
  // Open MPI gives its ranks a terminal each, whatever mpirun itself writes to.
  if (*place) context.out_is_terminal = context.err_is_terminal = false;
  std::deque<Session> sessions;
  const std::vector<SideArgs> sides = sides_of(args);
  for (const SideArgs& side : sides) {
    int code = 1;
    std::optional<Prepared> run = prepare(*place, *soak_plan, side.args, context, code);
    if (!run) return code;
    sessions.emplace_back().run = std::move(*run);
  }
  if (args.has("dry-run")) {
    for (const Session& session : sessions) print_plan(session.run.plan, *context.out);
    if (*soak_plan) *context.out << soak_outline(**soak_plan, sessions.front().run.plan);
    if (*repeat) *context.out << repeat_outline(**repeat);
    return 0;
  }
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());
  for (size_t i = 0; i < sides.size(); ++i) {
    if (const auto code = open_files(sessions[i], sides[i].args, context)) return *code;
  }
  watch_interrupts();
  const std::string run_id = to_hex(random_token()).substr(0, 16);
  setenv(kRunIdVariable, run_id.c_str(), 1);  // for what we start here
  const Logger log("coordinator", log_level(sessions.front().run.options));
  for (Session& session : sessions) {
    if (const auto code = reach_hosts(session, *program, run_id, args, context)) return *code;
    ready_ranks(session, run_id, log, context);
  }
  const bool quiet = args.has("quiet");
  Progress progress(*context.err, context.err_is_terminal, context.width);
  if (!*repeat) {
    Session& session = sessions.front();
    const Expected<RunSummary> summary =
        measure_once(session, *soak_plan, quiet, progress, context);
    session.world->stop();
    progress.finish();
    if (!summary) {
      usage_failure(context, summary.error());
      return 2;
    }
    return finish(session.run, *summary, session.probed, args, context);
  }
  RepeatRun repeated(**repeat, quiet, progress, context);
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = sessions[i];
    repeated.add({sides[i].name, session.request, &session.ranks(),
                  [&session] { session.world->stop(); }, session.run.earlier},
                 session.run.records_path);
  }
  const Expected<RepeatSummary> summary = repeated.measure();
  progress.finish();
  if (!summary) {
    usage_failure(context, summary.error());
    return 2;
  }
  int code = 0;
  for (Session& session : sessions) {
    code =
        worse_exit_code(code, finish(session.run, summary->counts, session.probed, args, context));
  }
  return worse_exit_code(code, repeated.compare());
}

}  // namespace plumbline
