#include <fcntl.h>
#include <libproc.h>
#include <netinet/in.h>
#include <sys/proc_info.h>
#include <sys/socket.h>

#include <cerrno>
#include <ctime>

#include "core/fd.h"
#include "probes/sources/own_process.h"

namespace plumbline {

const char* own_system() { return "macos"; }

std::string library_file(const std::string&) { return {}; }

std::vector<std::string> own_privileges() {
  std::vector<std::string> out;
  // Opening takes the device until it is closed again and changes nothing.
  const Fd packets(::open("/dev/bpf0", O_RDONLY | O_CLOEXEC));
  if (packets.valid() || errno == EBUSY) out.emplace_back("capture");
  const Fd raw(::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  if (raw.valid()) out.emplace_back("raw");
  return out;
}

void complete_sockets(HostEvidence& host) {
  for (SocketEvidence& socket : host.sockets) {
    if (socket.pid <= 0) continue;
    proc_bsdinfo info{};
    const int size = proc_pidinfo(static_cast<int>(socket.pid), PROC_PIDTBSDINFO, 0, &info,
                                  static_cast<int>(sizeof info));
    if (size != static_cast<int>(sizeof info)) continue;
    const int64_t age = std::time(nullptr) - static_cast<int64_t>(info.pbi_start_tvsec);
    socket.age_s = age < 0 ? 0 : age;
    if (socket.process.empty()) socket.process = info.pbi_comm;
    const HolderRole role = role_of_process(socket.pid);
    socket.role = role.role;
    socket.run = role.run;
  }
}

}  // namespace plumbline
