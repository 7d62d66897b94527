// A run as it is asked for, whatever it was asked with (the command line makes one out of the flags
// of `run` and of `coll`), and what became of it: plain values, for whoever shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "core/record/expect.h"
#include "launch/launcher_env.h"
#include "reports/compare/compare.h"
#include "reports/read_input.h"
#include "runs/plan_of.h"
#include "runs/ranks/launched.h"
#include "runs/report_output.h"
#include "runs/rule_source.h"
#include "scenarios/plan.h"
#include "scenarios/runner.h"
#include "scenarios/scenario.h"
#include "scenarios/soak.h"

namespace plumbline {

// The same cells again and again, on one side or on two that are measured in turns.
struct Repeats {
  int launches = 1;  // of each side
  int again = 0;     // launches of the second series; 0 = none
  bool two_sides = false;
  CompareRule rule;
  bool strict = false;
};

// What is left of a run beside what its caller is told.
enum class Keep {
  kFolder,   // of its files: records, reports, what they need; with an entry in the list of runs
  kNothing,  // its records are the caller's alone (RunProgress::last)
};

// Cells one by one in place of a scenario's matrix, made when it is known which hosts take part:
// measured in this order, each as it says. Errors: these hosts cannot.
using CellList = std::function<tl::expected<std::vector<PlanCell>, std::vector<Error>>(
    const std::vector<ScenarioHost>& hosts)>;

struct RunRequest {
  std::string program;  // path of plumbline, for agents and ranks
  std::string side;     // "a" or "b" of two; empty = the only one
  Scenario scenario;
  OptionSet options;      // resolved
  Vocabulary vocabulary;  // that the scenario was read with
  CellList cells;         // empty = the scenario's matrix
  int rounds = 1;         // of all cells; a soak and repeats have their own
  Keep keep = Keep::kFolder;
  PlanFilter filter;             // cells to measure
  std::optional<uint64_t> seed;  // of their order; nothing = the scenario's, or a new one
  std::string folder;            // of its files; empty = a new one, named after the scenario
  bool resume = false;           // go on with what lies there
  std::optional<SoakPlan> soak;
  std::optional<Repeats> repeats;
  RuleWords rules;                   // beside the scenario's own
  std::vector<std::string> exclude;  // hosts that take no part
  Permitted permitted;               // of what the scenario has started
  bool ranks_in_process = false;     // ranks are threads of one process on this machine
  bool probes = true;                // as far as the scenario has some
  bool despite_findings = false;     // measured even where the probes find what breaks it
  bool only_plan = false;            // it is to be shown: no host is asked for anything
  bool keep_history = true;          // in the list of runs
  bool quiet = false;                // says only what went wrong
  // How reports are laid out that are to be shown; nothing = none is.
  std::optional<ReportLook> look = ReportLook();
  std::vector<std::string> command;  // for the records: the words it was asked with
  // Where a launcher started the ranks: this one's place, and what all must have alike.
  std::optional<LauncherPlace> place;
  LaunchCall launch;
};

struct RunOutcome {
  std::string run_id, scenario, folder, records;
  RunState state;
  RunSummary counts;
  std::vector<RuleVerdict> rules;
  std::vector<std::string> reports;  // paths
  int exit_code = 0;
  bool reported = false;  // its reports were made: it got so far
  std::string shown;      // those that are not files
};

}  // namespace plumbline
