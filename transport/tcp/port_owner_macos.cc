// macOS: every process's descriptors through libproc (the way of lsof(8)).
#include <fmt/format.h>
#include <libproc.h>
#include <netinet/in.h>
#include <sys/proc_info.h>

#include <algorithm>
#include <vector>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

bool holds(pid_t pid, uint16_t port, bool listening) {
  const int bytes = ::proc_pidinfo(pid, PROC_PIDLISTFDS, 0, nullptr, 0);
  if (bytes <= 0) return false;
  std::vector<proc_fdinfo> list(static_cast<size_t>(bytes) / sizeof(proc_fdinfo) + 16);
  const int used = ::proc_pidinfo(pid, PROC_PIDLISTFDS, 0, list.data(),
                                  static_cast<int>(list.size() * sizeof(proc_fdinfo)));
  list.resize(used > 0 ? static_cast<size_t>(used) / sizeof(proc_fdinfo) : 0);
  for (const proc_fdinfo& entry : list) {
    if (entry.proc_fdtype != PROX_FDTYPE_SOCKET) continue;
    socket_fdinfo info{};
    const int got = ::proc_pidfdinfo(pid, entry.proc_fd, PROC_PIDFDSOCKETINFO, &info, sizeof info);
    if (got != static_cast<int>(sizeof info) || info.psi.soi_kind != SOCKINFO_TCP) continue;
    const tcp_sockinfo& tcp = info.psi.soi_proto.pri_tcp;
    const auto local = static_cast<uint16_t>(tcp.tcpsi_ini.insi_lport);
    const bool fits = !listening || tcp.tcpsi_state == TSI_S_LISTEN;
    if (fits && ntohs(local) == port) return true;
  }
  return false;
}

}  // namespace

std::string port_owner(uint16_t port, const std::string&) {
  const int count = ::proc_listallpids(nullptr, 0);
  if (count <= 0) return {};
  std::vector<pid_t> pids(static_cast<size_t>(count) + 64);
  const int used = ::proc_listallpids(pids.data(), static_cast<int>(pids.size() * sizeof(pid_t)));
  pids.resize(used > 0 ? static_cast<size_t>(used) : 0);
  for (const bool listening : {true, false}) {
    const auto owner = std::find_if(pids.begin(), pids.end(),
                                    [&](pid_t pid) { return holds(pid, port, listening); });
    if (owner == pids.end()) continue;
    char name[2 * MAXCOMLEN + 1] = "?";
    ::proc_name(*owner, name, sizeof name);
    return fmt::format("PID {} ({})", *owner, name);
  }
  return {};
}

}  // namespace plumbline
