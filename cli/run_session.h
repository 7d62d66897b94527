// A run from its first probe to its last report: agents, probes, ranks, records, rules, and its
// entry in the list of runs. Of two scenarios that are measured in turns each is a session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/prepared_run.h"
#include "cli/progress.h"
#include "runs/doctor_run.h"
#include "runs/history.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/reach.h"
#include "runs/ranks/world.h"
#include "runs/run_notices.h"
#include "runs/traced_runner.h"

namespace plumbline {

// Which run a session is part of.
struct RunPart {
  std::string id;
  int launches = 1;                    // of each cell
  const PreparedRun* other = nullptr;  // the other side of --interleave
  PortClaims* claims = nullptr;        // of both sides
};

// Its parts point into one another: it stays where it is.
class RunSession {
 public:
  RunSession(PreparedRun run, const Args& args, Context& context)
      : run_(std::move(run)), args_(args), context_(context) {}
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  // Opens folder and records. An exit code = the run ends here, and that was said.
  std::optional<int> open(const RunPart& part);
  // Reaches the hosts, probes them, and readies ranks and request.
  std::optional<int> reach(const std::string& program, const std::string& run_id, const Logger& log,
                           Progress& progress);
  // Reports, rules, and the end of its entry in the list of runs; returns the exit code.
  int finish(RunSummary summary);
  // The same for a run that could not go on.
  int fail_with(const Error& error, int code = 2);
  int fail_with(const std::vector<Error>& errors, int code = 2);  // at least one

  PreparedRun& prepared() { return run_; }
  RunRequest& request() { return request_; }
  World& world() { return *world_; }
  CellRunner& ranks() { return traced_ ? static_cast<CellRunner&>(*traced_) : *world_; }
  const AgentSet* agents() const { return agents_ ? &*agents_ : nullptr; }
  Job job() const { return job_of(ladder_); }

 private:
  std::optional<int> reach_agents_of(const std::string& program, const std::string& run_id);
  void ready_ranks(const std::string& run_id, const Logger& log, Progress& progress);
  void tell_refused();

  PreparedRun run_;
  const Args args_;
  Context& context_;
  std::string run_id_;
  int launches_ = 1;
  PortClaims* claims_ = nullptr;
  std::optional<RunNotices> notices_;
  HistoryRun history_;
  std::optional<RecordFile> file_;
  Reach reach_;
  DiagnoseRequest ladder_;
  std::optional<AgentSet> agents_;
  ProbeResult probed_;
  std::optional<World> world_;
  std::optional<TracedRunner> traced_;
  RunRequest request_;
};

}  // namespace plumbline
