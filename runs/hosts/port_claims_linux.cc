#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "runs/hosts/port_window.h"

namespace plumbline {
namespace {

// A name in the abstract socket namespace, see unix(7): of one network namespace, as ports are,
// with no file that could be left behind. Anybody may take such a name and thereby drive us to
// another window, as anybody may take the port itself.
Fd claim(int port, bool& taken) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "plumbline.port." + std::to_string(port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  taken = fd.valid() && bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 &&
          errno == EADDRINUSE;
  return fd;
}

}  // namespace

bool PortClaims::take(int base, int count) {
  std::map<int, Fd> fresh;
  for (int port = base; port < base + count; ++port) {
    if (held_.count(port) != 0) continue;
    bool taken = false;
    Fd fd = claim(port, taken);
    if (taken) return false;
    fresh.emplace(port, std::move(fd));
  }
  held_.merge(fresh);
  return true;
}

}  // namespace plumbline
