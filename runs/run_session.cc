#include "runs/run_session.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "core/clock.h"
#include "core/text_file.h"
#include "reports/content.h"
#include "reports/doctor.h"
#include "reports/links/link_view.h"
#include "reports/read_input.h"
#include "reports/run_folder.h"
#include "reports/text.h"
#include "runs/plan_of.h"
#include "runs/report_output.h"
#include "runs/run_folder.h"
#include "runs/scenario_programs.h"
#include "runs/soak_run.h"
#include "scenarios/expand.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool wants_traces(const PreparedRun& run) { return run.scenario.keep_traces != "never"; }

DiagnoseRequest ladder_of(const PreparedRun& run, Caller& caller) {
  DiagnoseRequest request;
  request.scenario = &run.scenario;
  request.options = &run.options;
  request.program = run.asked.program;
  request.ranks = largest_world(run.plan);
  for (const ProbeCall& call : run.scenario.probes) {
    request.calls.push_back(probe_call(call, run.asked.permitted.commands));
  }
  request.trace_folder = (fs::path(run.folder) / "traces").string();
  request.keep_traces = run.scenario.keep_traces;
  request.progress = [to = &caller](const std::string& text) {
    RunProgress probing;
    probing.probing = text;
    to->progress(probing);
  };
  request.interrupted = [asked = &caller] { return asked->ask() != Wish::kGoOn; };
  return request;
}

// How far it got, by what is in its file: of the first series, which is what was planned.
RunState state_of(const PreparedRun& run, int launches, const RunSummary& summary,
                  const std::vector<Record>& records) {
  RunState state;
  state.state = summary.interrupted        ? "interrupted"
                : !summary.stopped.empty() ? "stopped"
                                           : "finished";
  state.reason = summary.stopped;
  if (run.asked.soak) return state;
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
void show_summary(const ReportInput& input, const ReportScreen& screen) {
  Document document;
  add_summary(input, make_view(input.records), document);
  render_text(document, screen.look.width, screen.look.colour, *screen.out);
}

// The reports of this run, in its folder and into outcome.shown. Whether one could not be written.
bool report_all(const PreparedRun& run, const ReportInput& input, Caller& caller,
                RunOutcome& outcome) {
  std::vector<std::string> reports = run.scenario.report;
  if (run.asked.soak) reports.emplace_back("soak");
  // Of two sides the screen shows the comparison.
  const bool show = run.asked.look && !run.two_sides();
  if (!show) std::erase(reports, "console");
  std::ostringstream shown;
  const ReportScreen screen{run.asked.look.value_or(ReportLook()), &shown};
  WrittenReports written = write_reports(input, reports, run.folder, screen, caller);
  const bool any = std::find(reports.begin(), reports.end(), "console") != reports.end();
  if (show && !any) show_summary(input, screen);
  outcome.reports = std::move(written.paths);
  outcome.shown = shown.str();
  return written.failed;
}

// The run's entry in the list of runs: one for both sides of --interleave. Where there can be none,
// that is said once, and the run goes on.
HistoryRun begin_history(const PreparedRun& run, const RunPart& part, Caller& caller) {
  if (!run.asked.keep_history) return {};
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
  entry.command = run.asked.command;
  entry.made_folder = part.other == nullptr ? run.made_folder : run.made_parent;
  entry.cells = static_cast<int64_t>(cells) * part.launches;
  Expected<HistoryRun> history = HistoryRun::begin(std::move(entry));
  if (history) return std::move(*history);
  caller.say("plumbline: this run will not be in `plumbline results list`: " +
             history.error().message());
  return {};
}

void end_history(HistoryRun& history, const RunOutcome& ended) {
  HistoryEntry& entry = history.entry();
  entry.passed = static_cast<int64_t>(ended.counts.passed);
  entry.failed = static_cast<int64_t>(ended.counts.failed);
  entry.skipped = static_cast<int64_t>(ended.counts.skipped);
  entry.errors = static_cast<int64_t>(ended.counts.errors);
  entry.rules = static_cast<int64_t>(ended.rules.size());
  entry.rules_broken =
      static_cast<int64_t>(std::count_if(ended.rules.begin(), ended.rules.end(),
                                         [](const RuleVerdict& rule) { return !rule.passed; }));
  history.finish(ended.exit_code);
}

}  // namespace

// Strangers at the ranks' ports, once for the whole run.
void RunSession::tell_refused() {
  if (!world_) return;
  const RefusedConnections refused = world_->take_refused();
  if (refused.total == 0) return;
  tell(refused.text() +
       "; they reached no rank (a port scan, another program, another run's ranks?)");
}

RunOutcome RunSession::outcome() const {
  RunOutcome outcome;
  outcome.run_id = run_id_;
  outcome.scenario = run_.scenario.name;
  outcome.folder = run_.folder;
  outcome.records = run_.records_path;
  outcome.exit_code = 2;
  return outcome;
}

// Reports and rules of a finished run.
RunOutcome RunSession::report(RunSummary summary) {
  RunOutcome ended = outcome();
  ReportInput input;
  input.checks = probed_.checks;
  input.findings = probed_.findings;
  input.checklist = checklist_of(run_);
  // A run that was interrupted before its first cell ended has no record; here that is no error.
  std::error_code unknown;
  const bool empty = fs::file_size(run_.records_path, unknown) == 0 && !unknown;
  const Status read = empty ? Status() : read_report_input({run_.records_path}, input);
  if (!read) {
    tell(read.error().message());
    return ended;
  }
  ended.state = state_of(run_, launches_, summary, input.records);
  if (const Status kept = keep_run_state(run_.folder, ended.state); !kept) {
    tell(kept.error().message());
  }
  const std::string incomplete = incomplete_text(ended.state, run_.folder);
  if (!incomplete.empty()) {
    input.incomplete.push_back(incomplete);
    tell("incomplete: " + incomplete);
  }
  for (const std::string& note : run_.rule_check.notes) input.notes.push_back(note);
  input.scenario_text = run_.scenario.text;
  const bool rules_hold = apply_rules(run_.rules, input, caller_);
  const bool unwritten = report_all(run_, input, caller_, ended);
  // What an earlier part of this run found wrong is still wrong.
  for (const Record& record : run_.earlier) {
    if (run_.finished.count(cell_id(record)) > 0) count(summary, record);
  }
  const int code = exit_code(summary);
  const bool slow = links_fail(link_worlds(make_view(input.records)));
  ended.exit_code = code == 0 && (has_failure(probed_) || unwritten || slow) ? 2 : code;
  if (ended.exit_code == 0 && !rules_hold) ended.exit_code = 4;
  summary.records.clear();
  ended.counts = std::move(summary);
  ended.rules = std::move(input.rules);
  ended.reported = true;
  return ended;
}

RunOutcome RunSession::finish(RunSummary summary) {
  tell_refused();
  RunOutcome ended = report(std::move(summary));
  end_history(history_, ended);
  return ended;
}

RunOutcome RunSession::fail_with(const Error& error, int code) {
  return fail_with(std::vector<Error>{error}, code);
}

RunOutcome RunSession::fail_with(const std::vector<Error>& errors, int code) {
  tell_refused();
  for (const Error& error : errors) tell(error.message());
  RunOutcome ended = outcome();
  ended.exit_code = code;
  ended.state.state = "stopped";
  ended.state.reason = errors.front().message();
  if (const Status kept = keep_run_state(run_.folder, ended.state); !kept) {
    tell(kept.error().message());
  }
  end_history(history_, ended);
  return ended;
}

Status RunSession::open(const RunPart& part) {
  run_id_ = part.id;
  launches_ = part.launches;
  claims_ = part.claims;
  if (const Status opened = open_folder(run_, *part.claims, caller_); !opened) return opened;
  Expected<RecordFile> file = RecordFile::open(run_.records_path);
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  RunState state;
  if (!run_.asked.soak) state.planned = run_.plan.cells.size() * static_cast<size_t>(launches_);
  if (const Status kept = keep_run_state(run_.folder, state); !kept) return kept;
  history_ = begin_history(run_, part, caller_);
  return {};
}

std::optional<RunOutcome> RunSession::reach(const Logger& log) {
  ladder_ = ladder_of(run_, caller_);
  if (std::optional<RunOutcome> ended = reach_agents_of()) return ended;
  if (has_failure(probed_) && !run_.asked.despite_findings) {
    // A broken pair gives no result that anybody could trust.
    tell("not measured, because the probes found what breaks it (" +
         (fs::path(run_.folder) / kDoctorFile).string() + "); heal it, or add --despite-findings");
    RunSummary nothing;
    nothing.stopped = "the probes found what breaks it";
    return finish(std::move(nothing));
  }
  ready_ranks(log);
  return std::nullopt;
}

void RunSession::probe_first() {
  probed_ = diagnose(ladder_, *agents_);
  const std::pair<const char*, std::string> files[] = {
      {kDoctorFile, doctor_json(report_of(probed_))},
      {"evidence.json", evidence_text(probed_.evidence)}};
  for (const auto& [name, text] : files) {
    const Status written = write_text_file((fs::path(run_.folder) / name).string(), text);
    if (!written) tell(written.error().message());
  }
  if (run_.asked.quiet) return;
  for (const std::string& line : finding_lines(probed_)) caller_.say(line);
}

std::optional<RunOutcome> RunSession::reach_agents_of() {
  const bool probes = run_.asked.probes && !run_.scenario.probes.empty();
  Expected<Reach> reach =
      make_reach(run_.asked.program, run_.options, run_.scenario.hosts, caller_);
  if (!reach) return fail_with(reach.error(), 1);
  reach->run_id = run_id_;
  reach_ = std::move(*reach);
  if (probes || run_.asked.soak || wants_traces(run_) || any_by_ssh(run_.scenario.hosts) ||
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
  if (probes) probe_first();
  if (!probes && agents_ && agents_->first_failure()) return fail_with(*agents_->first_failure());
  return std::nullopt;
}

void RunSession::ready_ranks(const Logger& log) {
  notices_.emplace((fs::path(run_.folder) / kEventsFile).string(), run_id_, caller_);
  const auto notice = [this](const std::string& text) { notices_->tell(text); };
  WorldSpec spec{reach_, run_.scenario.hosts, run_.options, run_.asked.command, run_.plan.hash,
                 &log,   run_.launched.get()};
  spec.caller = &caller_;
  spec.notice = notice;
  spec.claims = claims_;
  spec.ranks_in_process = run_.asked.ranks_in_process;
  world_.emplace(std::move(spec));
  if (wants_traces(run_)) {
    traced_.emplace(*world_, run_.scenario, *agents_, job_of(ladder_).ports, ladder_.trace_folder,
                    run_.scenario.keep_traces);
  }
  request_.scenario = &run_.scenario;
  request_.plan = &run_.plan;
  request_.run_id = run_id_;
  request_.command = run_.asked.command;
  request_.finished_ids = run_.finished;
  request_.file = &*file_;
  request_.notice = notice;
}

RunOutcome RunSession::measure() {
  request_.progress = [this](const RunProgress& state) { caller_.progress(state); };
  Expected<RunSummary> summary = [this]() -> Expected<RunSummary> {
    if (!run_.asked.soak) return run_plan(request_, ranks());
    const Expected<SoakSummary> done = soak({*run_.asked.soak, request_, &*agents_, job_of(ladder_),
                                             run_.folder, run_.asked.quiet, &caller_},
                                            ranks());
    if (!done) return fail(done.error());
    return done->counts;
  }();
  world_->stop();
  RunProgress over;
  over.over = true;
  caller_.progress(over);
  return summary ? finish(std::move(*summary)) : fail_with(summary.error());
}

}  // namespace plumbline
