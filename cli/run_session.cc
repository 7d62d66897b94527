#include "cli/run_session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/report_output.h"
#include "cli/status_line.h"
#include "core/clock.h"
#include "reports/doctor.h"
#include "reports/read_input.h"
#include "reports/run_folder.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool wants_traces(const PreparedRun& run) { return run.scenario.keep_traces != "never"; }

DiagnoseRequest ladder_of(const PreparedRun& run, const std::string& program) {
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

ProbeResult probe_first(const PreparedRun& run, const DiagnoseRequest& ladder,
                        const AgentSet& agents, const Args& args, Context& context) {
  StatusLine line(*context.err, context.err_is_terminal && !args.has("quiet"), context.width);
  DiagnoseRequest request = ladder;
  request.progress = [&line](const std::string& text) { line.show(text); };
  ProbeResult result = diagnose(request, agents);
  line.clear();
  std::ofstream file(fs::path(run.folder) / kDoctorFile);
  file << doctor_json(report_of(result));
  std::ofstream evidence(fs::path(run.folder) / "evidence.json");
  evidence << evidence_text(result.evidence);
  if (!args.has("quiet")) print_findings(result, *context.err);
  return result;
}

// How a run ended: for the exit code and for the list of runs.
struct Ended {
  int code = 2;
  RunSummary counts;
  size_t rules = 0, rules_broken = 0;
};

// Reports and rules of a finished run.
Ended report(const PreparedRun& run, RunSummary summary, const ProbeResult& probed,
             const Args& args, Context& context) {
  Ended ended;
  ReportInput input;
  input.checks = probed.checks;
  input.findings = probed.findings;
  input.checklist = checklist_of(run);
  // A run that was interrupted before its first cell ended has no record; here that is no error.
  std::error_code unknown;
  const bool empty = fs::file_size(run.records_path, unknown) == 0 && !unknown;
  if (const Status read = empty ? Status() : read_report_input({run.records_path}, input); !read) {
    usage_failure(context, read.error());
    return ended;
  }
  if (summary.interrupted) input.notes.push_back("interrupted: the rest was not measured");
  if (!summary.stopped.empty()) input.notes.push_back(summary.stopped);
  for (const std::string& note : run.rule_check.notes) input.notes.push_back(note);
  input.scenario_text = run.scenario.text;
  const bool rules_hold = apply_rules(run.rules, input, context);
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
  ended.rules = input.rules.size();
  for (const RuleVerdict& rule : input.rules) ended.rules_broken += rule.passed ? 0 : 1;
  const int code = exit_code(summary);
  ended.code = code == 0 && has_failure(probed) ? 2 : code;
  if (ended.code == 0 && !rules_hold) ended.code = 4;
  summary.records.clear();
  ended.counts = std::move(summary);
  return ended;
}

// The run's entry in the list of runs. Where there can be none, that is said once, and the run goes
// on.
HistoryRun begin_history(const PreparedRun& run, const std::string& run_id, const Args& args,
                         Context& context) {
  if (args.has("no-history")) return {};
  HistoryEntry entry;
  entry.id = run_id;
  entry.started = utc_now_rfc3339();
  entry.scenario = run.scenario.name;
  entry.version = PLUMBLINE_VERSION;
  std::error_code code;
  entry.folder = fs::absolute(run.folder, code).lexically_normal().string();
  entry.command = context.argv;
  entry.made_folder = run.made_folder;
  entry.cells = static_cast<int64_t>(run.plan.cells.size());
  Expected<HistoryRun> history = HistoryRun::begin(std::move(entry));
  if (history) return std::move(*history);
  *context.err << "plumbline: this run will not be in `plumbline results list`: "
               << history.error().message() << "\n";
  return {};
}

void end_history(HistoryRun& history, const Ended& ended) {
  HistoryEntry& entry = history.entry();
  entry.passed = static_cast<int64_t>(ended.counts.passed);
  entry.failed = static_cast<int64_t>(ended.counts.failed);
  entry.skipped = static_cast<int64_t>(ended.counts.skipped);
  entry.errors = static_cast<int64_t>(ended.counts.errors);
  entry.rules = static_cast<int64_t>(ended.rules);
  entry.rules_broken = static_cast<int64_t>(ended.rules_broken);
  history.finish(ended.code);
}

}  // namespace

int RunSession::finish(RunSummary summary) {
  const Ended ended = report(run_, std::move(summary), probed_, args_, context_);
  end_history(history_, ended);
  return ended.code;
}

int RunSession::fail_with(const Error& error, int code) {
  usage_failure(context_, error);
  end_history(history_, Ended{code, {}});
  return code;
}

std::optional<int> RunSession::open(const std::string& run_id) {
  if (!open_folder(run_, args_, context_)) return 1;
  Expected<RecordFile> file = RecordFile::open(run_.records_path);
  if (!file) return usage_failure(context_, file.error());
  file_ = std::move(*file);
  history_ = begin_history(run_, run_id, args_, context_);
  return std::nullopt;
}

std::optional<int> RunSession::reach(const std::string& program, const std::string& run_id,
                                     const Logger& log) {
  ladder_ = ladder_of(run_, program);
  if (const std::optional<int> code = reach_agents_of(program, run_id)) return code;
  if (has_failure(probed_) && !args_.has("despite-findings")) {
    // A broken pair gives no result that anybody could trust.
    *context_.err << "plumbline: not measured, because the probes found what breaks it ("
                  << (fs::path(run_.folder) / kDoctorFile).string()
                  << "); heal it, or add --despite-findings\n";
    return finish(RunSummary{});
  }
  ready_ranks(run_id, log);
  return std::nullopt;
}

std::optional<int> RunSession::reach_agents_of(const std::string& program,
                                               const std::string& run_id) {
  const bool probes = !args_.has("no-probes") && !run_.scenario.probes.empty();
  Expected<Reach> reach = make_reach(program, run_.options, run_.scenario.hosts, *context_.err);
  if (!reach) return fail_with(reach.error(), 1);
  reach->run_id = run_id;
  reach_ = std::move(*reach);
  if (probes || run_.soak || wants_traces(run_) || any_by_ssh(run_.scenario.hosts) ||
      wants_data_addresses(run_.scenario.hosts)) {
    if (run_.launched) {
      reach_agents(*run_.launched, reach_, run_.options, agents_);
    } else {
      agents_.emplace(run_.scenario.hosts, reach_, run_.options);
    }
  }
  if (agents_) {
    auto found = agents_->find_data_addresses();
    if (!found) {  // the control network is never measured in their place
      usage_failure(context_, found.error());
      end_history(history_, Ended{});
      return 2;
    }
    run_.scenario.hosts = std::move(*found);
  }
  if (probes) probed_ = probe_first(run_, ladder_, *agents_, args_, context_);
  if (!probes && agents_ && agents_->first_failure()) return fail_with(*agents_->first_failure());
  return std::nullopt;
}

void RunSession::ready_ranks(const std::string& run_id, const Logger& log) {
  world_.emplace(WorldSpec{reach_, run_.scenario.hosts, run_.options, context_.argv, run_.plan.hash,
                           &log, run_.launched.get()});
  if (wants_traces(run_)) {
    traced_.emplace(*world_, run_.scenario, *agents_, job().ports, ladder_.trace_folder,
                    run_.scenario.keep_traces);
  }
  request_.scenario = &run_.scenario;
  request_.plan = &run_.plan;
  request_.run_id = run_id;
  request_.command = context_.argv;
  request_.finished_ids = run_.finished;
  request_.file = &*file_;
}

}  // namespace plumbline
