#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "core/host/physical_cores.h"

namespace plumbline {

// The threads of a core name the same list of siblings ("0,4"); without one each counts as a core.
int physical_cores() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &usable)) continue;
    const std::string number = std::to_string(cpu);
    std::ifstream file("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
    std::string siblings;
    cores.insert(std::getline(file, siblings) ? siblings : "cpu" + number);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

}  // namespace plumbline
