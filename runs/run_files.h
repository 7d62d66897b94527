// What is kept of a run: its folder with records, state, doctor's files and reports, and its entry
// in the list of runs; a run that keeps nothing has none of it. What a run has to tell beside its
// records is a line on the screen, and an event in events.jsonl of its folder, which is there only
// when something was told, or for a soak.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/record/event.h"
#include "core/record/record.h"
#include "runs/caller.h"
#include "runs/doctor_run.h"
#include "runs/history.h"
#include "runs/prepared_run.h"
#include "runs/run_request.h"

namespace plumbline {

// Which run a session is part of.
struct RunPart {
  std::string id;
  int launches = 1;                    // of each cell
  const PreparedRun* other = nullptr;  // the other side of --interleave
  PortClaims* claims = nullptr;        // of both sides
};

class RunFiles {
 public:
  RunFiles(PreparedRun& run, const RunPart& part, Caller& caller)
      : run_(run), part_(part), caller_(caller) {}
  // An Error: the run does not begin.
  Status open();
  RecordFile& records() { return *records_; }
  void keep(const ProbeResult& probed) const;
  // Reports and rules of a run that has come to its end; adds what they say to `ended`.
  void finish(const ProbeResult& probed, RunOutcome& ended);
  // Of one that could not go on: its state, and the end of its entry in the list of runs.
  void give_up(const RunOutcome& ended);

 private:
  void keep_state(const RunState& state) const;
  bool report(const ReportInput& input, RunOutcome& ended) const;
  void judge(const ProbeResult& probed, ReportInput input, RunOutcome& ended) const;
  void begin_history();
  void end_history(const RunOutcome& ended);
  void tell(const std::string& text) const { caller_.say("plumbline: " + text); }

  PreparedRun& run_;
  const RunPart& part_;
  Caller& caller_;
  std::optional<RecordFile> records_;
  HistoryRun history_;
};

// Tells what becomes a line and an event. Thread-safe.
class RunNotices {
 public:
  // `folder`: of the run; empty = lines only.
  RunNotices(const std::string& folder, std::string run_id, Caller& caller);
  // Begins with an empty file, and counts time from now on.
  Status begin();
  int64_t now() const { return monotonic_ns() - start_ns_; }
  // An event of kind `ranks`.
  void tell(const std::string& text);
  // Run id and wall time are filled in; `aloud`: it is said too.
  void add(SoakEvent event, bool aloud);

 private:
  Status append(const SoakEvent& event);

  const std::string path_, run_id_;
  Caller& caller_;
  int64_t start_ns_ = monotonic_ns();
  std::mutex mutex_;
  std::optional<EventFile> file_;
  bool failed_ = false;  // and it was said
};

}  // namespace plumbline
