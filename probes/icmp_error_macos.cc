// macOS does not tell sockets about the origin of an error.
#include "probes/icmp_error.h"

namespace plumbline {

void watch_icmp_errors(int, int, bool) {}
std::optional<QueuedIcmpError> take_icmp_error(int, void*, size_t, size_t*) { return std::nullopt; }

}  // namespace plumbline
