#include "runs/run_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "core/clock.h"
#include "core/file.h"
#include "reports/content.h"
#include "reports/doctor.h"
#include "reports/links/link_view.h"
#include "reports/read_input.h"
#include "reports/text.h"
#include "runs/report_output.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// How far it got, by what is in its file: of the first series, which is what was planned.
void count_cells(const PreparedRun& run, int launches, const std::vector<Record>& records,
                 RunState& state) {
  state.planned = run.asked.soak ? 0 : run.plan.cells.size() * static_cast<size_t>(launches);
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
}

// Where no report goes to the screen, what came out is said all the same.
void show_summary(const ReportInput& input, const ReportScreen& screen) {
  Document document;
  add_summary(input, make_view(input.records), document);
  render_text(document, screen.look.width, screen.look.colour, *screen.out);
}

}  // namespace

Status RunFiles::open() {
  if (const Status opened = open_folder(run_, *part_.claims, caller_); !opened) return opened;
  Expected<RecordFile> file = RecordFile::open(run_.records_path);
  if (!file) return fail(file.error());
  records_ = std::move(*file);
  RunState state;
  count_cells(run_, part_.launches, {}, state);
  if (const Status kept = keep_run_state(run_.folder, state); !kept) return kept;
  begin_history();
  return {};
}

void RunFiles::keep(const ProbeResult& probed) const {
  const std::pair<const char*, std::string> files[] = {
      {kDoctorFile, doctor_json(report_of(probed))},
      {"evidence.json", evidence_text(probed.evidence)}};
  for (const auto& [name, text] : files) {
    const Status written = write_text_file((fs::path(run_.folder) / name).string(), text);
    if (!written) tell(written.error().message());
  }
}

void RunFiles::keep_state(const RunState& state) const {
  if (const Status kept = keep_run_state(run_.folder, state); !kept) tell(kept.error().message());
}

// The reports of this run, in its folder and into ended.shown. Whether one could not be written.
bool RunFiles::report(const ReportInput& input, RunOutcome& ended) const {
  std::vector<std::string> reports = run_.scenario.report;
  if (run_.asked.soak) reports.emplace_back("soak");
  // Of two sides the screen shows the comparison.
  const bool show = run_.asked.look && !run_.two_sides();
  if (!show) std::erase(reports, "console");
  std::ostringstream shown;
  const ReportScreen screen{run_.asked.look.value_or(ReportLook()), &shown};
  WrittenReports written = write_reports(input, reports, run_.folder, screen, caller_);
  const bool any = std::find(reports.begin(), reports.end(), "console") != reports.end();
  if (show && !any) show_summary(input, screen);
  ended.reports = std::move(written.paths);
  ended.shown = shown.str();
  return written.failed;
}

void RunFiles::judge(const ProbeResult& probed, ReportInput input, RunOutcome& ended) const {
  count_cells(run_, part_.launches, input.records, ended.state);
  keep_state(ended.state);
  const std::string incomplete = incomplete_text(ended.state, run_.folder);
  if (!incomplete.empty()) {
    input.incomplete.push_back(incomplete);
    tell("incomplete: " + incomplete);
  }
  for (const std::string& note : run_.rule_check.notes) input.notes.push_back(note);
  input.scenario_text = run_.scenario.text;
  const bool rules_hold = apply_rules(run_.rules, input, caller_);
  const bool unwritten = report(input, ended);
  // What an earlier part of this run found wrong is still wrong.
  for (const Record& record : run_.earlier) {
    if (run_.finished.count(cell_id(record)) > 0) count(ended.counts, record);
  }
  const int code = exit_code(ended.counts);
  const bool slow = links_fail(link_worlds(make_view(input.records)));
  ended.exit_code = code == 0 && (has_failure(probed) || unwritten || slow) ? 2 : code;
  if (ended.exit_code == 0 && !rules_hold) ended.exit_code = 4;
  ended.rules = std::move(input.rules);
  ended.reported = true;
}

void RunFiles::finish(const ProbeResult& probed, RunOutcome& ended) {
  ReportInput input;
  input.checks = probed.checks;
  input.findings = probed.findings;
  input.checklist = checklist_of(run_);
  // A run that was interrupted before its first cell ended has no record; here that is no error.
  std::error_code unknown;
  const bool empty = fs::file_size(run_.records_path, unknown) == 0 && !unknown;
  const Status read = empty ? Status() : read_report_input({run_.records_path}, input);
  if (read) {
    judge(probed, std::move(input), ended);
  } else {
    tell(read.error().message());
    ended.exit_code = 2;
  }
  end_history(ended);
}

void RunFiles::give_up(const RunOutcome& ended) {
  keep_state(ended.state);
  end_history(ended);
}

// One entry for both sides of --interleave. Where there can be none, that is said once, and the run
// goes on.
void RunFiles::begin_history() {
  if (!run_.asked.keep_history) return;
  HistoryEntry entry;
  entry.id = part_.id;
  entry.started = utc_now_rfc3339();
  entry.scenario = run_.scenario.name;
  entry.version = PLUMBLINE_VERSION;
  std::error_code code;
  fs::path folder = fs::absolute(run_.folder, code).lexically_normal();
  size_t cells = run_.plan.cells.size();
  if (part_.other != nullptr) {
    entry.scenario += " and " + part_.other->scenario.name;
    cells += part_.other->plan.cells.size();
    folder = folder.parent_path();
  }
  entry.folder = folder.string();
  entry.command = run_.asked.command;
  entry.made_folder = part_.other == nullptr ? run_.made_folder : run_.made_parent;
  entry.cells = static_cast<int64_t>(cells) * part_.launches;
  Expected<HistoryRun> history = HistoryRun::begin(std::move(entry));
  if (history) {
    history_ = std::move(*history);
  } else {
    tell("this run will not be in `plumbline results list`: " + history.error().message());
  }
}

void RunFiles::end_history(const RunOutcome& ended) {
  HistoryEntry& entry = history_.entry();
  entry.passed = static_cast<int64_t>(ended.counts.passed);
  entry.failed = static_cast<int64_t>(ended.counts.failed);
  entry.skipped = static_cast<int64_t>(ended.counts.skipped);
  entry.errors = static_cast<int64_t>(ended.counts.errors);
  entry.rules = static_cast<int64_t>(ended.rules.size());
  entry.rules_broken =
      static_cast<int64_t>(std::count_if(ended.rules.begin(), ended.rules.end(),
                                         [](const RuleVerdict& rule) { return !rule.passed; }));
  history_.finish(ended.exit_code);
}

RunNotices::RunNotices(const std::string& folder, std::string run_id, Caller& caller)
    : path_(folder.empty() ? "" : (std::filesystem::path(folder) / kEventsFile).string()),
      run_id_(std::move(run_id)),
      caller_(caller) {}

Status RunNotices::begin() {
  Expected<EventFile> opened = EventFile::open(path_);
  if (!opened) return fail(opened.error());
  file_.emplace(std::move(*opened));
  start_ns_ = monotonic_ns();
  return {};
}

void RunNotices::tell(const std::string& text) {
  SoakEvent event;
  event.at_ns = now();
  event.kind = "ranks";
  event.text = text;
  add(std::move(event), true);
}

void RunNotices::add(SoakEvent event, bool aloud) {
  event.run_id = run_id_;
  event.time = utc_now_rfc3339();
  if (aloud) {
    caller_.say("plumbline: " + (event.host.empty() ? "" : event.host + ": ") + event.text);
  }
  const std::scoped_lock lock(mutex_);
  const Status kept = append(event);
  if (kept || std::exchange(failed_, true)) return;
  caller_.say("plumbline: events cannot be written: " + kept.error().message());
}

Status RunNotices::append(const SoakEvent& event) {
  if (path_.empty()) return {};
  if (!file_) {
    Expected<EventFile> opened = EventFile::open(path_, true);
    if (!opened) return fail(opened.error());
    file_.emplace(std::move(*opened));
  }
  return file_->append(event);
}

}  // namespace plumbline
