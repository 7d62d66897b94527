// What is kept of a run: its folder with records, state, doctor's files and reports, and its entry
// in the list of runs. A run that keeps nothing has none of it.
#pragma once

#include <optional>
#include <string>

#include "core/record/record.h"
#include "runs/doctor_run.h"
#include "runs/history.h"
#include "runs/prepared_run.h"
#include "runs/run_outcome.h"

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

}  // namespace plumbline
