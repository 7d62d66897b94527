// Conducting a run from its preparation to its reports: one, or two whose cells are measured in
// turns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/caller.h"
#include "runs/prepared_run.h"
#include "runs/repeat_run.h"
#include "runs/run_request.h"

namespace plumbline {

struct Conducted {
  int code = 0;
  std::vector<RunOutcome> outcomes;  // of each that began, unless `refused`
  std::optional<Error> refused;      // nothing was started
  SidesCompared compared;
};

// `runs`: at least one, all with the same repeats.
Conducted conduct(std::vector<PreparedRun> runs, Caller& caller);

}  // namespace plumbline
