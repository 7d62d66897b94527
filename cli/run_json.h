// The object that `run --json` prints in the place of tables. Pure.
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
};

// docs/json_output.md names its fields.
std::string run_json(const RunOutcome& outcome);

}  // namespace plumbline
