#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>

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

}  // namespace

std::vector<int> cpus_by_preference() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  std::stable_partition(cpus.begin(), cpus.end(), [](int cpu) { return !is_second_thread(cpu); });
  return cpus;
}

Status bind_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return {};
  return fail_errno(ErrorCode::kSystem, fmt::format("bind to CPU {}", cpu), errno,
                    "run with --bind-to none");
}

}  // namespace plumbline
