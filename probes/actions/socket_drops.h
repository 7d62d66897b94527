// Datagrams that came to a socket and were thrown away there because its buffer was full, since it
// was opened. Platform code: socket_drops_linux.cc (SO_MEMINFO, socket(7)), socket_drops_macos.cc
// (not told by the system: always 0). Thread-safe.
#pragma once

#include <cstdint>

namespace plumbline {

int64_t socket_drops(int fd);

}  // namespace plumbline
