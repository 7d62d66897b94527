// macOS does not tell TCP sockets about the origin of an error.
#include "probes/icmp_error.h"

namespace plumbline {

void watch_icmp_errors(int, int) {}
bool ended_by_icmp(int) { return false; }

}  // namespace plumbline
