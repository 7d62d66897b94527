// How far a run got: run.json in its folder, written when the run begins and again when it ends. So
// a report that is made later knows what is missing, and that a run was killed.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace plumbline {

inline constexpr const char* kRunStateFile = "run.json";

struct RunState {
  // "running" (a killed run stays so), "finished", "interrupted" or "stopped".
  std::string state = "running";
  std::string reason;   // of "stopped"
  size_t planned = 0;   // cells, each as often as it has launches; 0 = not known (a soak)
  size_t measured = 0;  // those that have a record; of a run that has ended
};

// Replaces the file of this folder.
Status keep_run_state(const std::string& folder, const RunState& state);
// A folder without the file has a finished run as far as anybody knows. An Error: it cannot be
// read.
Expected<RunState> read_run_state(const std::string& folder);

// What is missing and how to get it, in a sentence; empty when nothing is. `folder` is for the
// hint.
std::string incomplete_text(const RunState& state, const std::string& folder);

}  // namespace plumbline
