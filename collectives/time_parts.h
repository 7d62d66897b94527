// Where the time of operations goes: added up by the executor for those prepared operations that
// are told to (Executor::time_parts), one clock reading at each border. Of several in flight the
// oldest one counts as served and the others as queued, so that the times of one rank never
// overlap: what is left of the total without the queue is time in which this rank had an operation
// to do, and waiting and arithmetic are parts of just that time. Plain values; one thread.
#pragma once

#include <cstdint>

#include "transport/group.h"

namespace plumbline {

struct TimeParts {
  uint64_t operations = 0;  // that have ended
  int64_t total_ns = 0, queue_ns = 0;
  int64_t local_ns = 0;  // arithmetic, and copies inside the rank
  WaitTimes waits{};
};

}  // namespace plumbline
