// The table of sockets shows embryonic connections only to root, in a format of the kernel's own.
#include "probes/actions/half_open.h"

namespace plumbline {

std::vector<HalfOpenConnection> half_open_connections(const std::set<int>&) { return {}; }

}  // namespace plumbline
