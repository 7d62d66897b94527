#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "core/fd.h"
#include "core/host/host_internal.h"
#include "core/host/host_parse.h"
#include "core/host/memory_left.h"

namespace plumbline {
namespace {

constexpr std::streamsize kLongestFile = 1 << 20;  // bytes; /proc files have no size to ask for

// Whole text of a small file, nothing when it cannot be read.
std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(4096, '\0');
  std::string out;
  while (file && static_cast<std::streamsize>(out.size()) < kLongestFile) {
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    out.append(text, 0, static_cast<size_t>(file.gcount()));
  }
  return out;
}

std::string read_or_empty(const std::string& path) { return read_text(path).value_or(""); }

std::optional<std::string> read_word(const std::string& path) {
  const std::string text = read_or_empty(path);
  const std::string_view word = trimmed(text);
  if (word.empty()) return std::nullopt;
  return std::string(word);
}

int cores_by_affinity(int online) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more than 1024 CPUs; then there is no need to be exact.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return online;
  const int count = CPU_COUNT(&set);
  return count > 0 ? count : online;
}

std::optional<double> read_cpu_max(const std::string& folder) {
  return parse_cpu_max(read_or_empty(folder + "/cpu.max"));
}
std::optional<double> read_cfs_quota(const std::string& folder) {
  return parse_cfs_quota(read_or_empty(folder + "/cpu.cfs_quota_us"),
                         read_or_empty(folder + "/cpu.cfs_period_us"));
}

std::optional<double> read_cgroup_quota() {
  const std::string groups = read_or_empty("/proc/self/cgroup");
  std::optional<double> quota;
  if (const auto path = parse_cgroup_path(groups, "cpu")) {
    for (const char* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      if (!quota) quota = tightest_along(mount, *path, read_cfs_quota);
    }
  }
  if (const auto path = parse_cgroup_path(groups, ""); path && !quota) {
    quota = tightest_along("/sys/fs/cgroup", *path, read_cpu_max);
  }
  return quota;
}

std::optional<std::string> read_virtualisation() {
  std::string machine = hypervisor_from_dmi(read_or_empty("/sys/class/dmi/id/sys_vendor"),
                                            read_or_empty("/sys/class/dmi/id/product_name"));
  if (machine.empty()) machine = read_word("/sys/hypervisor/type").value_or("");
  if (machine.empty() && has_hypervisor_flag(read_or_empty("/proc/cpuinfo"))) {
    machine = "hypervisor";
  }
  std::string container = container_from_cgroup(read_or_empty("/proc/self/cgroup"));
  if (container.empty() && access("/.dockerenv", F_OK) == 0) container = "docker";
  if (container.empty() && access("/run/.containerenv", F_OK) == 0) container = "podman";
  if (container.empty()) container = read_word("/run/systemd/container").value_or("");

  if (machine.empty() && container.empty()) return std::nullopt;
  if (machine.empty()) return container;
  return container.empty() ? machine : container + " in " + machine;
}

void read_names(HostFacts& facts) {
  facts.os = parse_os_release(read_or_empty("/etc/os-release"));
  if (facts.os.empty()) facts.os = "Linux";
  utsname names{};
  if (uname(&names) != 0) return;
  facts.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  facts.arch = names.machine;
}

void read_cores(HostFacts& facts) {
  facts.cores_usable = cores_by_affinity(facts.cores_online);
  facts.cgroup_quota_cores = read_cgroup_quota();
  if (facts.cgroup_quota_cores) {
    const double quota = std::ceil(*facts.cgroup_quota_cores);
    if (quota < facts.cores_usable) facts.cores_usable = static_cast<int>(quota);
  }
  if (facts.cores_usable < 1) facts.cores_usable = 1;
}

void read_network(HostFacts& facts) {
  facts.congestion_control = read_word("/proc/sys/net/ipv4/tcp_congestion_control");
  facts.rmem_max = parse_count(read_or_empty("/proc/sys/net/core/rmem_max"));
  facts.wmem_max = parse_count(read_or_empty("/proc/sys/net/core/wmem_max"));
  facts.ephemeral_ports = parse_port_range(read_or_empty("/proc/sys/net/ipv4/ip_local_port_range"));
}

}  // namespace

void read_platform_facts(HostFacts& facts) {
  read_names(facts);
  read_cores(facts);
  read_network(facts);
  facts.cpu_model = parse_cpu_model(read_or_empty("/proc/cpuinfo"));
  facts.governor = read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.clock_source =
      read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.load1 = parse_load1(read_or_empty("/proc/loadavg"));
  const std::string meminfo = read_or_empty("/proc/meminfo");
  facts.memory_bytes = parse_meminfo(meminfo, "MemTotal");
  facts.memory_available_bytes = memory_left();
  facts.virtualisation = read_virtualisation();
  facts.boot_id = read_word("/proc/sys/kernel/random/boot_id").value_or("");
}

void read_platform_libraries(std::map<std::string, std::string>& libraries) {
  libraries["glibc"] = gnu_get_libc_version();
}

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
