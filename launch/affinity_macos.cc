#include "launch/affinity.h"

namespace plumbline {

// macOS places threads itself and offers no way to bind one to a core.
std::vector<int> cpus_by_preference() { return {}; }

Affinity own_affinity() { return {}; }

Status bind_to_cpu(int) { return bind_to_cpus({}); }

Status bind_to_cpus(const std::vector<int>&) {
  return fail(ErrorCode::kUnsupported, "macOS cannot bind a process to a core");
}

}  // namespace plumbline
