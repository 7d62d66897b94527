#include "collectives/engines/own_sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "core/number.h"

namespace plumbline {
namespace {

using NameOf = int (*)(int, sockaddr*, socklen_t*);

// Empty where the descriptor is no connected socket.
std::string address_text(int fd, NameOf name_of) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (name_of(fd, address, &length) != 0) return {};
  if (address->sa_family != AF_INET && address->sa_family != AF_INET6) return {};
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(address, length, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return "[" + std::string(host.data()) + "]:" + port.data();
}

}  // namespace

std::vector<Fd> own_sockets(const std::set<std::string>& locals,
                            const std::set<std::string>& remotes) {
  std::vector<int> open;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable)) {
    const auto number = parse_whole<int>(entry.path().filename().string(), 0);
    if (number) open.push_back(*number);
  }
  std::vector<Fd> sockets;
  for (const int fd : open) {
    const std::string remote = address_text(fd, getpeername);
    if (remote.empty()) continue;
    if (!remotes.contains(remote) && !locals.contains(address_text(fd, getsockname))) continue;
    sockets.emplace_back(dup(fd));
  }
  return sockets;
}

}  // namespace plumbline
