// Nobody ends a process that was stopped (SIGSTOP, a debugger) when the one that it serves is on
// another machine: it cannot see that its input has ended, and it keeps its memory and its ports,
// which those that come after it need. So a rank behind ssh starts a small process beside it that
// waits for the end of the same input and ends a rank that is still there some time later.
#pragma once

#include <sys/types.h>

#include "core/error.h"

namespace plumbline {

// Starts it: `plumbline guard --over OUR-PID`, which ends with us. `input` is not read.
Status watch_for_stops(int input);

// What it does, in a process whose parent is `over`; returns when that has ended.
void end_when_abandoned(pid_t over, int input);

}  // namespace plumbline
