// `plumbline tune` from its first rank to its file: three runs like others that keep nothing, each
// with ranks of its own: what the rates of the model follow from, algorithms that the model cannot
// tell apart, and sizes in between by which the outcome is judged. What each asks is in
// tune_plan.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "runs/caller.h"
#include "runs/run_request.h"
#include "runs/tuning/tune_plan.h"
#include "runs/tuning/tuning_file.h"

namespace plumbline {

struct TuneRequest {
  // Program, hosts, options, command, permissions of the three runs; their cells are added. The
  // option `tuning` is not heeded.
  RunRequest run;
  TuneSpec spec;
};

struct TuneResult {
  Tuning tuning;
  std::vector<HeldOut> held_out;
  size_t measured = 0;    // operations
  size_t unmeasured = 0;  // for which there was no time, or which failed
};

// kInterrupted when the caller wanted it to end; kConfig where nothing was started.
Expected<TuneResult> tune(const TuneRequest& request, Caller& caller);

}  // namespace plumbline
