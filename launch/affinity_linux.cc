#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/number.h"
#include "launch/affinity.h"

namespace plumbline {
namespace {

// True when `cpu` is not the first hyper-thread of its core ("0,64" or "0-1" for the first one's
// file).
bool is_second_thread(int cpu) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  int first = cpu;
  file >> first;
  return file && first != cpu;
}

// Ascending.
std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// The folder of a CPU holds a link nodeN; -1 on kernels without NUMA.
int node_of(int cpu) {
  std::error_code error;
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    if (const auto node = parse_whole<int>(std::string_view(name).substr(4))) return *node;
  }
  return -1;
}

}  // namespace

Affinity own_affinity() {
  const std::vector<int> cpus = usable_cpus();
  Affinity out;
  out.cpus = cpu_ranges(cpus);
  for (size_t i = 0; i < cpus.size(); ++i) {
    const int node = node_of(cpus[i]);
    if (i > 0 && node != out.numa_node) {
      out.numa_node = -1;
      break;
    }
    out.numa_node = node;
  }
  return out;
}

std::vector<int> cpus_by_preference() {
  std::vector<int> cpus = usable_cpus();
  std::stable_partition(cpus.begin(), cpus.end(), [](int cpu) { return !is_second_thread(cpu); });
  return cpus;
}

Status bind_to_cpu(int cpu) { return bind_to_cpus({cpu}); }

Status bind_to_cpus(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return {};
  return fail_errno(ErrorCode::kSystem, fmt::format("bind to CPU {}", fmt::join(cpus, ", ")), errno,
                    "run with --bind-to none");
}

}  // namespace plumbline
