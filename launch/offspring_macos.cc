#include <unistd.h>

#include <cstdlib>

#include "core/clock.h"
#include "launch/leftovers.h"
#include "launch/offspring.h"

namespace plumbline {
namespace {

constexpr const char* kMarkVariable = "PLUMBLINE_GUARD";

}  // namespace

Offspring::Offspring() : mark_(std::to_string(getpid()) + "-" + std::to_string(monotonic_ns())) {
  setenv(kMarkVariable, mark_.c_str(), 1);
}

std::vector<pid_t> Offspring::find() const {
  std::vector<pid_t> found;
  for (const Leftover& process : find_marked(kMarkVariable)) {
    if (process.run_id == mark_) found.push_back(process.pid);
  }
  return found;
}

}  // namespace plumbline
