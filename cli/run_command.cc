// `plumbline run`: probes, then the scenario's matrix over real processes, then the reports. What
// was finished is never lost: every cell is on disk before the next begins.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/doctor_run.h"
#include "cli/interrupts.h"
#include "cli/options_source.h"
#include "cli/plan_text.h"
#include "cli/port_window.h"
#include "cli/progress.h"
#include "cli/report_output.h"
#include "cli/scenario_source.h"
#include "cli/status_line.h"
#include "cli/traced_runner.h"
#include "cli/world.h"
#include "core/sha256.h"
#include "reports/doctor.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string default_folder(const Scenario& scenario) {
  std::string time = utc_now_rfc3339().substr(0, 19);  // 2026-11-20T05:06:07
  std::erase_if(time, [](char c) { return c == ':' || c == '-'; });
  return "plumbline-out/" + scenario.name + "-" + time;
}

// Everything a run needs, made before anything starts.
struct Prepared {
  Scenario scenario;
  OptionSet options;
  Plan plan;
  std::string folder;
  std::string records_path;
  std::set<std::string> finished;  // cells that --resume found done
  std::vector<Record> earlier;     // their records
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
  auto finished = finished_cells(*records, run.plan, PLUMBLINE_VERSION);
  if (!finished) {
    usage_failure(context, finished.error());
    return false;
  }
  run.finished = std::move(*finished);
  run.earlier = std::move(*records);
  return true;
}

std::optional<Prepared> prepare(const Args& args, Context& context) {
  std::optional<Scenario> scenario = read_scenario(args.get("scenario"), context);
  if (!scenario) return std::nullopt;
  auto options = resolve_options(args, scenario->config);
  if (!options) {
    usage_failure(context, options.error());
    return std::nullopt;
  }
  std::optional<Plan> plan = plan_of(*scenario, *options, args, context);
  if (!plan) return std::nullopt;
  Prepared run{std::move(*scenario), std::move(*options), std::move(*plan), "", "", {}, {}};
  run.folder = args.get("out", default_folder(run.scenario));
  run.records_path = (fs::path(run.folder) / "records.jsonl").string();
  return run;
}

int largest_world(const Plan& plan) {
  int ranks = 1;
  for (const PlanCell& planned : plan.cells) ranks = std::max(ranks, planned.cell.ranks);
  return ranks;
}

// The longest window of ports that this plan will need, checked before anything starts.
Status check_ports(const Prepared& run) {
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

int finish(const Prepared& run, RunSummary summary, const ProbeResult& probed, Context& context) {
  ReportInput input;
  input.checks = probed.checks;
  input.findings = probed.findings;
  auto records = read_records(run.records_path, &input.notes);
  if (!records) {
    usage_failure(context, records.error());
    return 2;
  }
  input.records = std::move(*records);
  if (summary.interrupted) input.notes.push_back("interrupted: the rest was not measured");
  if (!summary.stopped.empty()) input.notes.push_back(summary.stopped);
  const std::vector<std::string> paths =
      write_reports(input, run.scenario.report, run.folder, context);
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

// A broken pair gives no result that anybody could trust.
int refuse(const Prepared& run, const ProbeResult& probed, Context& context) {
  *context.err << "plumbline: not measured, because the probes found what breaks it ("
               << (fs::path(run.folder) / "doctor.json").string()
               << "); heal it, or add --despite-findings\n";
  return finish(run, RunSummary{}, probed, context);
}

}  // namespace

int run_run(const Args& args, Context& context) {
  std::optional<Prepared> run = prepare(args, context);
  if (!run) return 1;
  if (args.has("dry-run")) {
    print_plan(run->plan, *context.out);
    return 0;
  }
  if (!prepare_folder(*run, args, context)) return 1;
  const Expected<std::string> program = own_program_path();
  if (!program) return usage_failure(context, program.error());
  if (const Status ports = check_ports(*run); !ports) return usage_failure(context, ports.error());
  Expected<RecordFile> file = RecordFile::open(run->records_path);
  if (!file) return usage_failure(context, file.error());

  watch_interrupts();
  const DiagnoseRequest ladder = ladder_of(*run, *program);
  std::optional<AgentSet> agents;
  const bool probes = !args.has("no-probes") && !run->scenario.probes.empty();
  if (probes || wants_traces(*run)) agents.emplace(run->scenario.hosts, *program, run->options);
  const ProbeResult probed =
      probes ? probe_first(*run, ladder, *agents, args, context) : ProbeResult{};
  if (has_failure(probed) && !args.has("despite-findings")) return refuse(*run, probed, context);
  const Logger log("coordinator", log_level(run->options));
  Progress progress(*context.err, context.err_is_terminal, context.width);
  const bool quiet = args.has("quiet");
  World world({*program, run->scenario.hosts, run->options, context.argv, run->plan.hash, &log});
  RunRequest request;
  request.scenario = &run->scenario;
  request.plan = &run->plan;
  request.run_id = to_hex(random_token()).substr(0, 16);
  request.command = context.argv;
  request.finished_ids = run->finished;
  request.file = &*file;
  request.progress = [&](const RunProgress& state) {
    if (!quiet) progress.show(state);
  };
  std::optional<TracedRunner> traced;
  if (wants_traces(*run)) {
    traced.emplace(world, run->scenario, *agents, job_of(ladder).ports, ladder.trace_folder,
                   run->scenario.keep_traces);
  }
  const Expected<RunSummary> summary =
      run_plan(request, traced ? static_cast<CellRunner&>(*traced) : world);
  world.stop();
  progress.finish();
  if (!summary) {
    usage_failure(context, summary.error());
    return 2;
  }
  return finish(*run, *summary, probed, context);
}

}  // namespace plumbline
