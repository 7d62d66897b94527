// The object that `run --json` prints in the place of tables. Pure.
#pragma once

#include <string>

#include "runs/run_outcome.h"

namespace plumbline {

// docs/json_output.md names its fields.
std::string run_json(const RunOutcome& outcome);

}  // namespace plumbline
