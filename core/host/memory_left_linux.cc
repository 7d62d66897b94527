#include <algorithm>
#include <optional>
#include <string>

#include "core/file.h"
#include "core/host/host_parse.h"
#include "core/host/memory_left.h"

namespace plumbline {
namespace {

std::optional<double> left_v1(const std::string& folder) {
  return parse_cgroup_memory_left(read_system_file(folder + "/memory.limit_in_bytes"),
                                  read_system_file(folder + "/memory.usage_in_bytes"),
                                  read_system_file(folder + "/memory.stat"), "total_inactive_file");
}
std::optional<double> left_v2(const std::string& folder) {
  return parse_cgroup_memory_left(read_system_file(folder + "/memory.max"),
                                  read_system_file(folder + "/memory.current"),
                                  read_system_file(folder + "/memory.stat"), "inactive_file");
}

// What the control groups of this process leave it; nothing where none has a limit.
std::optional<double> control_groups_leave() {
  const std::string groups = read_system_file("/proc/self/cgroup");
  std::optional<double> left;
  if (const auto path = parse_cgroup_path(groups, "memory")) {
    left = tightest_along("/sys/fs/cgroup/memory", *path, left_v1);
  }
  if (const auto path = parse_cgroup_path(groups, ""); path && !left) {
    left = tightest_along("/sys/fs/cgroup", *path, left_v2);
  }
  return left;
}

}  // namespace

uint64_t memory_left() {
  const uint64_t available = parse_meminfo(read_system_file("/proc/meminfo"), "MemAvailable");
  const std::optional<double> left = control_groups_leave();
  return left ? std::min(available, static_cast<uint64_t>(*left)) : available;
}

}  // namespace plumbline
