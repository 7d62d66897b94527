#include "launch/leftovers.h"

#include <poll.h>
#include <signal.h>

namespace plumbline {

std::vector<Leftover> find_leftovers(const std::string& run_id) {
  std::vector<Leftover> found = find_marked(kRunIdVariable);
  std::erase_if(
      found, [&](const Leftover& process) { return !run_id.empty() && process.run_id != run_id; });
  return found;
}

std::vector<Leftover> end_leftovers(const std::string& run_id, int64_t gentle_ms) {
  constexpr int kPauseMs = 20;
  std::vector<Leftover> left = find_leftovers(run_id);
  for (const int number : {SIGTERM, SIGKILL}) {
    // Looked up anew each time: a pid may have become somebody else's.
    for (const Leftover& process : left) kill(process.pid, number);
    const Deadline deadline = Deadline::after_ms(gentle_ms);
    while (!left.empty() && !deadline.passed()) {
      poll(nullptr, 0, kPauseMs);
      left = find_leftovers(run_id);
    }
  }
  return left;
}

}  // namespace plumbline
