// A run from its first probe to its last report: agents, probes, ranks, records, rules, packet
// traces, and its entry in the list of runs. Of two scenarios that are measured in turns each is a
// session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/probe.h"
#include "runs/doctor_run.h"
#include "runs/hosts/agent_set.h"
#include "runs/hosts/reach.h"
#include "runs/ranks/world.h"
#include "runs/run_files.h"
#include "runs/run_request.h"
#include "scenarios/runner.h"

namespace plumbline {

// Captures packets on every host while another runner runs a cell, and keeps the traces that the
// scenario asked for: always, or of cells that did not pass.
class TracedRunner : public CellRunner {
 public:
  // `folder` gets one folder per kept cell, named by its id. `keep`: "always" | "failures".
  TracedRunner(CellRunner& inner, const Scenario& scenario, const AgentSet& agents,
               std::vector<int> ports, std::string folder, std::string keep);

  Status ensure_world(const WorldShape& world) override { return inner_.ensure_world(world); }
  Expected<Measurement> run(const PlanCell& cell) override;
  Environment environment() override { return inner_.environment(); }
  bool interrupted() const override { return inner_.interrupted(); }

 private:
  CellRunner& inner_;
  ProbeContext context_;
  std::vector<std::vector<std::string>> own_;  // addresses of each host
  std::vector<int> ports_;
  std::string folder_, keep_;
};

// Its parts point into one another: it stays where it is.
class RunSession {
 public:
  RunSession(PreparedRun run, Caller& caller) : run_(std::move(run)), caller_(caller) {}
  RunSession(const RunSession&) = delete;
  RunSession& operator=(const RunSession&) = delete;

  // Opens folder and records. An Error: the run does not begin.
  Status open(const RunPart& part);
  // Reaches the hosts, probes them, and readies ranks and request; of a list of cells the ranks are
  // started. What became of it = the run ends here.
  std::optional<RunOutcome> reach(const Logger& log);
  // Measures all cells once, or in the rounds of a soak, and reports.
  RunOutcome measure();
  // Reports, rules, and the end of its entry in the list of runs.
  RunOutcome finish(RunSummary summary);
  // The same for a run that could not go on.
  RunOutcome fail_with(const Error& error, int code = 2);
  RunOutcome fail_with(const std::vector<Error>& errors, int code = 2);  // at least one

  const PreparedRun& prepared() const { return run_; }
  PlanRequest& request() { return request_; }
  World& world() { return *world_; }
  CellRunner& ranks() { return traced_ ? static_cast<CellRunner&>(*traced_) : *world_; }

 private:
  std::optional<RunOutcome> reach_agents_of();
  void ready_ranks(const Logger& log);
  std::optional<RunOutcome> start_ranks();
  void probe_first();
  RunOutcome outcome() const;
  void tell(const std::string& text) { caller_.say("plumbline: " + text); }
  void tell_refused();

  PreparedRun run_;
  Caller& caller_;
  RunPart part_;
  std::optional<RunFiles> files_;  // of a run that keeps something
  std::optional<RunNotices> notices_;
  Reach reach_;
  DiagnoseRequest ladder_;
  std::optional<AgentSet> agents_;
  ProbeResult probed_;
  std::optional<World> world_;
  std::optional<TracedRunner> traced_;
  PlanRequest request_;
};

}  // namespace plumbline
