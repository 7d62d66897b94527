// macOS has no list of reserved ports.
#include "probes/reserved_ports.h"

namespace plumbline {

std::vector<int> reserved_ports() { return {}; }

}  // namespace plumbline
