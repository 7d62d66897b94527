// The state files of labs: /run/plumbline/<name>/state.json, replaced whole, so that a reader or a
// crash never meets half of one. Locks are flock(2) on files beside it: the kernel lets go of them
// when their process dies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {

std::string labs_folder();  // "/run/plumbline"
std::string lab_folder(const std::string& name);

// Everything that is remembered of a lab.
struct LabState {
  Lab lab;
  bool complete = false;           // `up` came to its end
  std::vector<Injected> injected;  // in the order of injection
};
Status write_state(const LabState& state);
Expected<LabState> read_state(const std::string& name);

std::string state_text(const LabState& state);
Expected<LabState> parse_state(const std::string& text, const std::string& file);

// Waits for the lock at most `within_ms`; held until the Fd is closed. Children do not inherit it.
Expected<Fd> take_lock(const std::string& file, int64_t within_ms);
// The lock of all labs (choosing names), and that of one lab.
Expected<Fd> lock_labs();
Expected<Fd> lock_lab(const std::string& name);

Status write_file(const std::string& path, const std::string& text);  // replaced in one step
Expected<std::string> read_text(const std::string& path);

}  // namespace plumbline
