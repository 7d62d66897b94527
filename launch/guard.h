// Runs one program of somebody else's on behalf of an asker who may vanish: it gets variables,
// files and a folder to start in, and it ends, with all that it started, in sessions of their own
// too (leftovers.h), when it ends itself and as soon as the asker's end of the input closes, the
// asker has been silent for too long, or this process is told to end. What is secret comes in over
// the input, never in a command line. One guard per process: it changes the environment and the
// current folder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace plumbline {

struct GuardOrder {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // beside our own
  std::string current_folder;  // to start in, when it exists here; empty = where we are
  std::string folder;          // made for `files`, removed at the end; empty = none
  std::vector<std::pair<std::string, std::string>> files;  // name in `folder`, text
  // Its standard input comes behind the order, in frames (line_io.h); otherwise it is empty.
  bool takes_input = false;
};

std::string encode(const GuardOrder& order);
// kProtocol: not an order.
Expected<GuardOrder> decode_guard_order(const std::string& line);

struct GuardSettings {
  int input = 0;                // where the asker's silence and end are seen
  int64_t lease_ms = 0;         // silence that counts as its end; 0 = never
  int64_t gentle_ms = 1'000;    // from SIGTERM to SIGKILL
  std::function<bool()> ended;  // asked about ten times a second: end now?
};

// The program's exit status, 128 + signal, or 127 when it could not be started (the Error says
// why).
Expected<int> run_guarded(const GuardOrder& order, const GuardSettings& settings);

// Nobody ends a process that was stopped (SIGSTOP, a debugger) when the one that it serves is on
// another machine: it cannot see that its input has ended, and it keeps its memory and its ports,
// which those that come after it need. So a rank behind ssh starts a small guard beside it that
// waits for the end of the same input and ends a rank that is still there some time later.
//
// Starts it: `plumbline guard --over OUR-PID`, which ends with us. `input` is not read.
Status watch_for_stops(int input);

// What it does, in a process whose parent is `over`; returns when that has ended.
void end_when_abandoned(pid_t over, int input);

}  // namespace plumbline
