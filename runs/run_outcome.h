// What became of a run. Plain values, for whoever shows them.
#pragma once

#include <string>
#include <vector>

#include "core/record/rule.h"
#include "reports/run_state.h"
#include "scenarios/runner.h"

namespace plumbline {

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
