#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "core/fd.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/own_process.h"
#include "probes/sources/source.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// Field `number` (from 3 on, see proc(5)) of /proc/PID/stat; empty when there is none. The name in
// field 2 may hold anything, so fields are counted from the last bracket.
std::string stat_field(const std::string& pid, size_t number) {
  const std::string stat = read_small_file("/proc/" + pid + "/stat").value_or("");
  const size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return "";
  const auto words = words_of(std::string_view(stat).substr(bracket + 1));
  return words.size() > number - 3 ? std::string(words[number - 3]) : "";
}

// Seconds since the process started, which stands in clock ticks after boot.
std::optional<int64_t> age_of(const std::string& pid, double uptime_s) {
  const auto ticks = parse_whole(stat_field(pid, 22));
  const auto per_second = sysconf(_SC_CLK_TCK);
  if (!ticks || per_second <= 0) return std::nullopt;
  const double age = uptime_s - static_cast<double>(*ticks) / static_cast<double>(per_second);
  return age < 0 ? 0 : static_cast<int64_t>(age);
}

std::string name_of(const std::string& pid) {
  std::string name = read_small_file("/proc/" + pid + "/comm").value_or("");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return valid_utf8(name);
}

struct Holder {
  std::string name;
  HolderRole role;
  bool elsewhere = false;  // in another network namespace
  std::optional<int64_t> age_s;
};

}  // namespace

const char* own_system() { return "linux"; }

std::string library_file(const std::string& name) {
  utsname system{};
  const std::string machine = ::uname(&system) == 0 ? system.machine : "";
  const std::string debian = "/usr/lib/" + machine + "-linux-gnu";
  for (const std::string& folder : {debian, std::string("/usr/lib64"), std::string("/usr/lib"),
                                    std::string("/usr/local/lib")}) {
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

std::vector<std::string> own_privileges() {
  std::vector<std::string> out;
  // Protocol 0: the socket is allowed or not, and receives nothing.
  const Fd packets(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (packets.valid()) out.emplace_back("capture");
  const Fd raw(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
  if (raw.valid()) out.emplace_back("raw");
  return out;
}

void complete_sockets(HostEvidence& host) {
  const std::string own = link_target("/proc/self/ns/net");
  double uptime_s = 0;
  std::ifstream("/proc/uptime") >> uptime_s;
  std::map<int64_t, Holder> holders;
  for (SocketEvidence& socket : host.sockets) {
    if (socket.pid == 0) continue;
    auto [it, first] = holders.try_emplace(socket.pid);
    if (first) {
      const std::string pid = std::to_string(socket.pid);
      const std::string network = link_target("/proc/" + pid + "/ns/net");
      it->second.name = name_of(pid);
      it->second.elsewhere = !network.empty() && !own.empty() && network != own;
      if (!it->second.elsewhere) {
        it->second.age_s = age_of(pid, uptime_s);
        it->second.role = role_of_process(socket.pid);
      }
    }
    // A process may have chosen a name that looks like another one's entry in the list. (ss cuts
    // names at a closing bracket.)
    if (it->second.elsewhere || it->second.name.rfind(socket.process, 0) != 0) {
      socket.pid = 0;
      socket.process.clear();
    }
    if (socket.pid == 0) continue;
    socket.age_s = it->second.age_s;
    socket.role = it->second.role.role;
    socket.run = it->second.role.run;
  }
}

}  // namespace plumbline
