// libproc, the way of lsof(8): only processes of this user show their sockets, unless this is root.
#include <libproc.h>
#include <mach/mach_time.h>
#include <netinet/in.h>
#include <sys/proc.h>
#include <sys/proc_info.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <iterator>

#include "core/clock.h"
#include "core/host/ip.h"
#include "core/host/process_facts.h"
#include "core/text.h"
#include "probes/actions/ends.h"
#include "probes/job/job_variables.h"
#include "probes/job/look.h"

namespace plumbline {
namespace {

// By TSI_S_* of sys/proc_info.h.
constexpr const char* kTcpStates[] = {"CLOSED",      "LISTEN",     "SYN-SENT",   "SYN-RECV",
                                      "ESTABLISHED", "CLOSE-WAIT", "FIN-WAIT-1", "CLOSING",
                                      "LAST-ACK",    "FIN-WAIT-2", "TIME-WAIT"};

const char* state_of(uint32_t status) {
  switch (status) {
    case SRUN:
      return "running";
    case SSLEEP:
      return "sleeping";
    case SSTOP:
      return "stopped";
    case SZOMB:
      return "zombie";
    default:
      return "idle";
  }
}

int64_t cpu_ns_of(pid_t pid) {
  proc_taskinfo info{};
  const int size = ::proc_pidinfo(pid, PROC_PIDTASKINFO, 0, &info, sizeof info);
  mach_timebase_info_data_t base{};
  if (size != static_cast<int>(sizeof info) || mach_timebase_info(&base) != 0 || base.denom == 0) {
    return 0;
  }
  return static_cast<int64_t>((info.pti_total_user + info.pti_total_system) / base.denom *
                              base.numer);
}

// The system's unions of the two ends are types of their own.
template <typename Address>
std::string address_text(const Address& address, uint8_t family) {
  const bool v6 = (family & INI_IPV6) != 0;
  const void* bytes = v6 ? static_cast<const void*>(&address.ina_6)
                         : static_cast<const void*>(&address.ina_46.i46a_addr4);
  std::string text = to_text(ip_of_bytes(bytes, v6));
  constexpr std::string_view kMapped = "::ffff:";
  const bool mapped = text.starts_with(kMapped) && text.find('.') != text.npos;
  return mapped ? text.substr(kMapped.size()) : text;
}

JobSocket socket_of(const socket_info& info, const JobProcess& process) {
  const tcp_sockinfo& tcp = info.soi_proto.pri_tcp;
  JobSocket socket;
  const auto state = static_cast<size_t>(std::max(0, tcp.tcpsi_state));
  socket.state = state < std::size(kTcpStates) ? kTcpStates[state] : "unknown";
  const auto port = [](int number) { return ntohs(static_cast<uint16_t>(number)); };
  socket.ip = address_text(tcp.tcpsi_ini.insi_laddr, tcp.tcpsi_ini.insi_vflag);
  socket.port = port(tcp.tcpsi_ini.insi_lport);
  if (socket.state != "LISTEN") {
    socket.peer_ip = address_text(tcp.tcpsi_ini.insi_faddr, tcp.tcpsi_ini.insi_vflag);
    socket.peer_port = port(tcp.tcpsi_ini.insi_fport);
  }
  const bool listens = socket.state == "LISTEN";
  const auto number = [](auto value) { return static_cast<int64_t>(value); };
  socket.receive_queue = listens ? number(info.soi_qlen) : number(info.soi_rcv.sbi_cc);
  socket.send_queue = listens ? number(info.soi_qlimit) : number(info.soi_snd.sbi_cc);
  if (tcp.tcpsi_timer[TSI_T_REXMT] > 0) socket.timer = "retransmit";
  if (tcp.tcpsi_timer[TSI_T_PERSIST] > 0) socket.timer = "probe";
  socket.pid = process.pid;
  socket.uid = process.uid;
  return socket;
}

bool read_sockets(const JobProcess& process, std::vector<JobSocket>& sockets) {
  const auto pid = static_cast<pid_t>(process.pid);
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
    sockets.push_back(socket_of(info.psi, process));
  }
  return used > 0;
}

void read_start(pid_t pid, JobProcess& process) {
  proc_bsdinfo info{};  // only of processes that this user may look into
  const int size = ::proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &info, sizeof info);
  if (size != static_cast<int>(sizeof info)) return;
  const auto seconds = static_cast<int64_t>(info.pbi_start_tvsec);
  process.started = seconds * 1'000'000 + static_cast<int64_t>(info.pbi_start_tvusec);
  process.age_s = std::max<int64_t>(0, std::time(nullptr) - seconds);
}

void take_process(pid_t pid, SystemLook& look) {
  proc_bsdshortinfo info{};
  const int size = ::proc_pidinfo(pid, PROC_PIDT_SHORTBSDINFO, 0, &info, sizeof info);
  if (size != static_cast<int>(sizeof info)) return;
  SeenProcess seen;
  JobProcess& process = seen.process;
  process.pid = pid;
  seen.ours = pid == ::getpid() || pid == ::getppid();
  process.parent = info.pbsi_ppid;
  process.uid = info.pbsi_uid;
  process.name = valid_utf8({info.pbsi_comm, strnlen(info.pbsi_comm, sizeof info.pbsi_comm)});
  process.state = state_of(info.pbsi_status);
  read_start(pid, process);
  std::array<char, PROC_PIDPATHINFO_MAXSIZE> path{};
  const int length = ::proc_pidpath(pid, path.data(), path.size());
  const std::string text(path.data(), static_cast<size_t>(std::max(0, length)));
  process.program = valid_utf8(text.substr(text.rfind('/') + 1));
  process.cpu_ns = cpu_ns_of(pid);
  const std::string environment = process_environment(pid);
  process.environment_seen = !environment.empty();
  process.environment = allowed_variables(std::string_view(environment));
  process.sockets_seen = read_sockets(process, look.sockets);
  const bool ended = process.state == "zombie";
  if (!ended && !process.environment_seen && !process.sockets_seen) seen.sight = Sight::kOtherUser;
  look.processes.push_back(std::move(seen));
}

}  // namespace

Expected<SystemLook> look_at_system(const AgentCall& call) {
  const int count = ::proc_listallpids(nullptr, 0);
  if (count <= 0) return fail(ErrorCode::kSystem, "the system does not list its processes");
  std::vector<pid_t> pids(static_cast<size_t>(count) + 64);
  const int used = ::proc_listallpids(pids.data(), static_cast<int>(pids.size() * sizeof(pid_t)));
  pids.resize(used > 0 ? static_cast<size_t>(used) : 0);
  SystemLook look;
  look.at_ns = monotonic_ns();
  for (const pid_t pid : pids) {
    if (over(call)) {
      look.cut.emplace_back("no time was left to look at all processes");
      break;
    }
    if (pid > 0) take_process(pid, look);
  }
  return look;
}

// libproc does not tell where in the kernel a process waits.
void look_closer(JobProcess&) {}

}  // namespace plumbline
