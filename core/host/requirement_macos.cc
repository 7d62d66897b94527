#include <unistd.h>

#include "core/host/requirement_platform.h"

namespace plumbline {

std::string missing_linux() { return "needs Linux; this is macOS"; }

std::string missing_macos() { return ""; }

std::string missing_network_namespaces() { return "network namespaces exist on Linux only"; }

std::string missing_raw_sockets() {
  return geteuid() == 0 ? "" : "needs the right to open raw sockets; run it with sudo";
}

}  // namespace plumbline
