#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/host/requirement_platform.h"

namespace plumbline {

std::string missing_linux() { return ""; }

std::string missing_macos() { return "needs macOS; this is Linux"; }

std::string missing_network_namespaces() {
  return access("/proc/self/ns/net", F_OK) == 0 ? "" : "this kernel has no network namespaces";
}

std::string missing_raw_sockets() {
  const Fd socket(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
  return socket.valid() ? ""
                        : "needs the right to open raw sockets (CAP_NET_RAW); run it with sudo";
}

}  // namespace plumbline
