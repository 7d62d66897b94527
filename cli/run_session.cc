#include "cli/run_session.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "cli/report_output.h"
#include "cli/run_json.h"
#include "cli/scenario_programs.h"
#include "cli/status_line.h"
#include "core/clock.h"
#include "core/text_file.h"
#include "reports/content.h"
#include "reports/doctor.h"
#include "reports/links/link_view.h"
#include "reports/read_input.h"
#include "reports/run_folder.h"
#include "reports/run_state.h"
#include "reports/text.h"
#include "scenarios/expand.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool wants_traces(const PreparedRun& run) { return run.scenario.keep_traces != "never"; }

DiagnoseRequest ladder_of(const PreparedRun& run, const std::string& program, bool commands) {
  DiagnoseRequest request;
  request.scenario = &run.scenario;
  request.options = &run.options;
  request.program = program;
  request.ranks = largest_world(run.plan);
  for (const ProbeCall& call : run.scenario.probes) {
    request.calls.push_back(probe_call(call, commands));
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
  const std::pair<const char*, std::string> files[] = {
      {kDoctorFile, doctor_json(report_of(result))},
      {"evidence.json", evidence_text(result.evidence)}};
  for (const auto& [name, text] : files) {
    const Status written = write_text_file((fs::path(run.folder) / name).string(), text);
    if (!written) *context.err << "plumbline: " << written.error().message() << "\n";
  }
  if (!args.has("quiet")) print_findings(result, *context.err);
  return result;
}

// How a run ended: for the exit code and for the list of runs.
struct Ended {
  int code = 2;
  RunSummary counts;
  size_t rules = 0, rules_broken = 0;
};

void print_json(const PreparedRun& run, const std::string& run_id, const RunState& state,
                const Ended& ended, std::vector<RuleVerdict> rules,
                std::vector<std::string> reports, Context& context) {
  RunOutcome outcome;
  outcome.run_id = run_id;
  outcome.scenario = run.scenario.name;
  outcome.folder = run.folder;
  outcome.records = run.records_path;
  outcome.state = state;
  outcome.counts = ended.counts;
  outcome.rules = std::move(rules);
  outcome.reports = std::move(reports);
  outcome.exit_code = ended.code;
  *context.out << run_json(outcome) << std::flush;
}

// How far it got, by what is in its file: of the first series, which is what was planned.
RunState state_of(const PreparedRun& run, int launches, const RunSummary& summary,
                  const std::vector<Record>& records) {
  RunState state;
  state.state = summary.interrupted        ? "interrupted"
                : !summary.stopped.empty() ? "stopped"
                                           : "finished";
  state.reason = summary.stopped;
  if (run.soak) return state;
  state.planned = run.plan.cells.size() * static_cast<size_t>(launches);
  std::set<std::pair<std::string, int64_t>> seen;
  size_t merged = 0;
  for (const Record& record : records) {
    const LaunchMark mark = record.launch.value_or(LaunchMark{});
    if (record.launches > 1) {
      merged += static_cast<size_t>(record.launches);
    } else if (mark.series == 1) {
      seen.emplace(cell_id(record.cell), mark.number);
    }
  }
  state.measured = std::min(state.planned, seen.size() + merged);
  return state;
}

// Where no report goes to the screen, what came out is said all the same.
void print_summary(const ReportInput& input, Context& context) {
  Document document;
  add_summary(input, make_view(input.records), document);
  render_text(document, context.width, context.out_colour, *context.out);
}

void print_places(const WrittenReports& written, const PreparedRun& run, Context& context) {
  *context.out << "\n";
  for (const std::string& path : written.paths) *context.out << "Report:  " << path << "\n";
  *context.out << "Records: " << run.records_path << "\n" << std::flush;
}

// Reports and rules of a finished run.
Ended report(const PreparedRun& run, const std::string& run_id, int launches, RunSummary summary,
             const ProbeResult& probed, const Args& args, Context& context) {
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
  const RunState state = state_of(run, launches, summary, input.records);
  if (const Status kept = keep_run_state(run.folder, state); !kept) {
    *context.err << "plumbline: " << kept.error().message() << "\n";
  }
  const std::string incomplete = incomplete_text(state, run.folder);
  if (!incomplete.empty()) {
    input.incomplete.push_back(incomplete);
    *context.err << "plumbline: incomplete: " << incomplete << "\n";
  }
  for (const std::string& note : run.rule_check.notes) input.notes.push_back(note);
  input.scenario_text = run.scenario.text;
  const bool rules_hold = apply_rules(run.rules, input, context);
  std::vector<std::string> reports = run.scenario.report;
  if (run.soak) reports.emplace_back("soak");
  // Of two sides the screen shows the comparison.
  const bool json = args.has("json");
  if (args.has("interleave") || json) std::erase(reports, "console");
  const WrittenReports written = write_reports(input, reports, run.folder, context);
  const bool on_screen =
      json || std::find(reports.begin(), reports.end(), "console") != reports.end();
  if (!on_screen && !args.has("interleave")) print_summary(input, context);
  if (!json) print_places(written, run, context);
  // What an earlier part of this run found wrong is still wrong.
  for (const Record& record : run.earlier) {
    if (run.finished.count(cell_id(record)) > 0) count(summary, record);
  }
  ended.rules = input.rules.size();
  for (const RuleVerdict& rule : input.rules) ended.rules_broken += rule.passed ? 0 : 1;
  const int code = exit_code(summary);
  const bool slow = links_fail(link_worlds(make_view(input.records)));
  ended.code = code == 0 && (has_failure(probed) || written.failed || slow) ? 2 : code;
  if (ended.code == 0 && !rules_hold) ended.code = 4;
  summary.records.clear();
  ended.counts = std::move(summary);
  if (json) print_json(run, run_id, state, ended, input.rules, written.paths, context);
  return ended;
}

// The run's entry in the list of runs: one for both sides of --interleave. Where there can be none,
// that is said once, and the run goes on.
HistoryRun begin_history(const PreparedRun& run, const RunPart& part, const Args& args,
                         Context& context) {
  if (args.has("no-history")) return {};
  HistoryEntry entry;
  entry.id = part.id;
  entry.started = utc_now_rfc3339();
  entry.scenario = run.scenario.name;
  entry.version = PLUMBLINE_VERSION;
  std::error_code code;
  fs::path folder = fs::absolute(run.folder, code).lexically_normal();
  size_t cells = run.plan.cells.size();
  if (part.other != nullptr) {
    entry.scenario += " and " + part.other->scenario.name;
    cells += part.other->plan.cells.size();
    folder = folder.parent_path();
  }
  entry.folder = folder.string();
  entry.command = context.argv;
  entry.made_folder = part.other == nullptr ? run.made_folder : run.made_parent;
  entry.cells = static_cast<int64_t>(cells) * part.launches;
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

// Strangers at the ranks' ports, once for the whole run.
void RunSession::tell_refused() {
  if (!world_) return;
  const RefusedConnections refused = world_->take_refused();
  if (refused.total == 0) return;
  *context_.err << "plumbline: " << clean(refused.text())
                << "; they reached no rank (a port scan, another program, another run's ranks?)\n";
}

int RunSession::finish(RunSummary summary) {
  tell_refused();
  const Ended ended =
      report(run_, run_id_, launches_, std::move(summary), probed_, args_, context_);
  end_history(history_, ended);
  return ended.code;
}

int RunSession::fail_with(const Error& error, int code) {
  return fail_with(std::vector<Error>{error}, code);
}

int RunSession::fail_with(const std::vector<Error>& errors, int code) {
  tell_refused();
  usage_failure(context_, errors);
  RunState state;
  state.state = "stopped";
  state.reason = errors.front().message();
  if (const Status kept = keep_run_state(run_.folder, state); !kept) {
    *context_.err << "plumbline: " << kept.error().message() << "\n";
  }
  const Ended ended{code, {}};
  end_history(history_, ended);
  if (args_.has("json")) print_json(run_, run_id_, state, ended, {}, {}, context_);
  return code;
}

std::optional<int> RunSession::open(const RunPart& part) {
  run_id_ = part.id;
  launches_ = part.launches;
  claims_ = part.claims;
  if (!open_folder(run_, args_, *part.claims, context_)) return 1;
  Expected<RecordFile> file = RecordFile::open(run_.records_path);
  if (!file) return usage_failure(context_, file.error());
  file_ = std::move(*file);
  RunState state;
  if (!run_.soak) state.planned = run_.plan.cells.size() * static_cast<size_t>(launches_);
  if (const Status kept = keep_run_state(run_.folder, state); !kept) {
    return usage_failure(context_, kept.error());
  }
  history_ = begin_history(run_, part, args_, context_);
  return std::nullopt;
}

std::optional<int> RunSession::reach(const std::string& program, const std::string& run_id,
                                     const Logger& log, Progress& progress) {
  ladder_ = ladder_of(run_, program, args_.has(kAllowCommands));
  if (const std::optional<int> code = reach_agents_of(program, run_id)) return code;
  if (has_failure(probed_) && !args_.has("despite-findings")) {
    // A broken pair gives no result that anybody could trust.
    *context_.err << "plumbline: not measured, because the probes found what breaks it ("
                  << (fs::path(run_.folder) / kDoctorFile).string()
                  << "); heal it, or add --despite-findings\n";
    RunSummary nothing;
    nothing.stopped = "the probes found what breaks it";
    return finish(std::move(nothing));
  }
  ready_ranks(run_id, log, progress);
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
      return fail_with(found.error());
    }
    run_.scenario.hosts = std::move(*found);
    skip_what_is_apart(run_.plan.cells, run_.scenario.hosts);
  }
  if (agents_ && !run_.launched) {  // a launcher has placed its ranks as it likes
    const Status fits =
        fits_memory(run_.plan, run_.options, run_.scenario.hosts, agents_->memory());
    if (!fits) return fail_with(fits.error(), 1);
  }
  if (probes) probed_ = probe_first(run_, ladder_, *agents_, args_, context_);
  if (!probes && agents_ && agents_->first_failure()) return fail_with(*agents_->first_failure());
  return std::nullopt;
}

void RunSession::ready_ranks(const std::string& run_id, const Logger& log, Progress& progress) {
  notices_.emplace((fs::path(run_.folder) / kEventsFile).string(), run_id,
                   [&progress](const std::string& line) { progress.line(line); });
  const auto notice = [this](const std::string& text) { notices_->tell(text); };
  WorldSpec spec{reach_, run_.scenario.hosts, run_.options, context_.argv, run_.plan.hash,
                 &log,   run_.launched.get()};
  spec.say = [&progress](const std::string& line) { progress.line(line); };
  spec.notice = notice;
  spec.claims = claims_;
  world_.emplace(std::move(spec));
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
  request_.notice = notice;
}

}  // namespace plumbline
