// proc(5) and sock_diag(7).
#include "probes/job/look_linux.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "core/clock.h"
#include "core/file.h"
#include "core/host/process_facts.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/actions/ends.h"
#include "probes/job/job_variables.h"
#include "probes/job/look.h"
#include "probes/job/sockets_linux.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostProcesses = 32'768, kMostDescriptors = 1'000'000;  // looked at

// Calls `take` for each entry of a directory as long as it returns true; nothing when it may not be
// read.
template <typename Take>
bool each_entry(const std::string& path, Take&& take) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return false;
  for (const dirent* entry = ::readdir(dir.get()); entry != nullptr; entry = ::readdir(dir.get())) {
    if (!take(entry->d_name)) break;
  }
  return true;
}

struct StateName {
  char letter;
  const char* name;
};
constexpr StateName kProcessStates[] = {
    {'R', "running"}, {'S', "sleeping"}, {'D', "disk"}, {'T', "stopped"}, {'t', "traced"},
    {'Z', "zombie"},  {'X', "zombie"},   {'I', "idle"}, {'P', "idle"},
};

struct CallName {
  long number;
  const char* name;
};
// In which a job waits.
constexpr CallName kCalls[] = {
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_fsync, "fsync"},
#ifdef SYS_poll  // newer processors have none of these
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

class SystemReader {
 public:
  explicit SystemReader(const AgentCall& call) : call_(call) {
    std::ifstream("/proc/uptime") >> uptime_s_;
  }

  Expected<SystemLook> run() {
    look_.at_ns = monotonic_ns();
    const bool listed = each_entry("/proc", [&](const char* name) {
      const auto pid = parse_whole<int64_t>(name, 1);
      if (pid) take_process(*pid);
      return !stopped();
    });
    if (!listed) return fail_errno(ErrorCode::kSystem, "list the processes in /proc", errno);
    KernelSockets kernel = read_kernel_sockets(call_);
    for (KernelSocket& each : kernel.sockets) {
      const auto owner = owners_.find(each.inode);
      if (each.inode != 0 && owner != owners_.end()) each.socket.pid = owner->second;
      look_.sockets.push_back(std::move(each.socket));
    }
    look_.cut.insert(look_.cut.end(), kernel.cut.begin(), kernel.cut.end());
    return std::move(look_);
  }

 private:
  bool stopped() {
    if (over(call_)) {
      look_.cut.emplace_back("no time was left to look at all processes");
    } else if (look_.processes.size() >= kMostProcesses) {
      look_.cut.push_back(
          fmt::format("more than {} processes: the others were not looked at", kMostProcesses));
    } else {
      return false;
    }
    return true;
  }

  void take_process(int64_t pid) {
    const std::string folder = fmt::format("/proc/{}", pid);
    SeenProcess seen;
    JobProcess& process = seen.process;
    process.pid = pid;
    seen.ours = pid == ::getpid() || pid == ::getppid();
    if (!parse_process_stat(read_system_file(folder + "/stat"), ticks_, process)) return;
    struct stat owner {};
    if (::stat(folder.c_str(), &owner) == 0) process.uid = owner.st_uid;
    if (ticks_ > 0) {
      process.age_s = std::max<int64_t>(0, whole_number_of(uptime_s_) - process.started / ticks_);
    }
    const std::string network = link_target(folder + "/ns/net");
    if (network.empty() && process.state != "zombie") {
      seen.sight = Sight::kOtherUser;
    } else if (!network.empty() && !own_network_.empty() && network != own_network_) {
      seen.sight = Sight::kElsewhere;
    }
    if (seen.sight == Sight::kSeen) look_into(folder, process);
    look_.processes.push_back(std::move(seen));
  }

  void look_into(const std::string& folder, JobProcess& process) {
    std::string path = link_target(folder + "/exe");
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    process.program = valid_utf8(path.substr(path.rfind('/') + 1));
    if (process.program.empty()) return;  // a thread of the kernel
    const std::string environment = process_environment(process.pid);
    process.environment_seen = !environment.empty();
    process.environment = allowed_variables(std::string_view(environment));
    const std::string descriptors = folder + "/fd/";
    process.sockets_seen = each_entry(descriptors, [&](const char* name) {
      constexpr std::string_view kSocket = "socket:[";
      const std::string target = link_target(descriptors + name);
      if (target.starts_with(kSocket)) {
        const auto inode = leading_whole<uint64_t>(std::string_view(target).substr(kSocket.size()));
        // Of several that share it, the oldest number.
        if (inode) owners_.emplace(*inode, process.pid);
      }
      return ++descriptors_ < kMostDescriptors;
    });
  }

  const AgentCall& call_;
  double uptime_s_ = 0;
  const int64_t ticks_ = sysconf(_SC_CLK_TCK);
  const std::string own_network_ = link_target("/proc/thread-self/ns/net");
  size_t descriptors_ = 0;
  std::map<uint64_t, int64_t> owners_;  // inode -> pid
  SystemLook look_;
};

}  // namespace

// The name may hold anything, brackets and line ends too, so fields are counted from the last
// bracket.
bool parse_process_stat(const std::string& text, int64_t ticks_per_second, JobProcess& process) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return false;
  const auto words = words_of(std::string_view(text).substr(close + 1));
  constexpr size_t kFirst = 3, kParent = 4, kUser = 14, kSystem = 15, kStarted = 22;  // proc(5)
  if (words.size() <= kStarted - kFirst || words[0].size() != 1) return false;
  const auto number = [&](size_t field) {
    return parse_whole<int64_t>(words[field - kFirst], 0).value_or(0);
  };
  process.name = valid_utf8(text.substr(open + 1, close - open - 1));
  process.state = "unknown";
  for (const StateName& state : kProcessStates) {
    if (state.letter == words[0][0]) process.state = state.name;
  }
  process.parent = number(kParent);
  process.started = number(kStarted);
  if (ticks_per_second > 0) {
    process.cpu_ns = (number(kUser) + number(kSystem)) * (kSecond / ticks_per_second);
  }
  return true;
}

Expected<SystemLook> look_at_system(const AgentCall& call) { return SystemReader(call).run(); }

// By libraries that only one of them has. libmpi.so.12 is MPICH's, or of another one with its ABI
// (Intel MPI, MVAPICH2), which no model here describes: these are known by their folders.
std::string mpi_in(const std::string& maps) {
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  if (has(maps, "/libopen-pal.so")) return "openmpi";
  if (has(maps, "/libmpich.so")) return "mpich";
  const size_t at = maps.find("/libmpi.so.12");
  if (at == maps.npos) return {};
  const size_t line = maps.rfind('\n', at) + 1;  // 0 where there is none
  const std::string folder = maps.substr(line, at - line);
  for (const char* other : {"intel", "impi", "oneapi", "mvapich"}) {
    if (has(folder, other)) return "mpich ABI";
  }
  return "mpich";
}

void look_closer(JobProcess& process) {
  const std::string folder = fmt::format("/proc/{}", process.pid);
  process.mpi = mpi_in(read_system_file(folder + "/maps"));
  const std::string channel = read_system_file(folder + "/wchan");
  if (channel != "0") process.wait_channel = valid_utf8(channel);
  const auto number = leading_whole<int64_t>(read_system_file(folder + "/syscall"));
  if (!number) return;
  for (const CallName& call : kCalls) {
    if (call.number == *number) process.system_call = call.name;
  }
}

}  // namespace plumbline
