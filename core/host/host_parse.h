// Readers of the small text files in which systems tell facts about themselves (/proc, /sys,
// os-release, DMI). Pure functions from text to value: a file that is missing, cut short or full of
// nonsense gives "unknown", never a guess. Compiled on every platform so that they can be tested
// everywhere. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

// "  text \n" -> "text".
std::string_view trimmed(std::string_view text);
// A whole decimal number, alone in the text but for white space around it.
std::optional<uint64_t> parse_count(std::string_view text);

// /proc/cpuinfo: the model of the first CPU that has one; empty when none has.
std::string parse_cpu_model(std::string_view cpuinfo);
// /proc/cpuinfo: does the CPU say that it runs under a hypervisor?
bool has_hypervisor_flag(std::string_view cpuinfo);
// /proc/meminfo: bytes of one line such as "MemTotal"; 0 when it is not there.
uint64_t parse_meminfo(std::string_view meminfo, std::string_view key);
// /proc/loadavg: the 1-minute average.
std::optional<double> parse_load1(std::string_view loadavg);
// /etc/os-release: PRETTY_NAME without its quotes; empty when absent.
std::string parse_os_release(std::string_view os_release);
// "32768\t60999" -> {32768, 60999}; {0, 0} when it is not a range of ports.
std::pair<int, int> parse_port_range(std::string_view text);

// cgroup v2 cpu.max: "150000 100000" -> 1.5 cores; "max 100000" -> no limit.
std::optional<double> parse_cpu_max(std::string_view text);
// cgroup v1 cpu.cfs_quota_us and cpu.cfs_period_us; a quota of -1 is no limit.
std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us);
// Bytes that a control group may still take: its limit (memory.max, memory.limit_in_bytes) without
// what it uses, of which pages of files that nobody uses (`inactive_key` of memory.stat) can be
// given back. Nothing where there is no limit.
std::optional<double> parse_cgroup_memory_left(std::string_view limit, std::string_view used,
                                               std::string_view stat,
                                               std::string_view inactive_key);
// /proc/self/cgroup: the path of this process in the hierarchy of `controller` ("cpu"; "" = v2).
std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller);
// The least that `read` says of the folders on the way from this path up to the root of the mount:
// the limits of all of them hold. Nothing where none has one.
std::optional<double> tightest_along(const std::string& mount, std::string path,
                                     std::optional<double> (*read)(const std::string& folder));

// Name of the hypervisor by what the firmware says ("QEMU" -> "qemu"), or empty.
std::string hypervisor_from_dmi(std::string_view vendor, std::string_view product);
// Name of the container runtime by a process's cgroup text ("docker", "kubernetes" ...), or empty.
std::string container_from_cgroup(std::string_view text);

// Of "NAME=value" strings, those whose name the allow list holds. Values are cut to one line of 256
// characters.
std::map<std::string, std::string> allowed_environment(std::span<const char* const> entries,
                                                       const std::vector<std::string>& allow_list);

}  // namespace plumbline
