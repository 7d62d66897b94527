#include <sys/sysctl.h>

#include <algorithm>

#include "core/host/physical_cores.h"

namespace plumbline {

int physical_cores() {
  int cores = 1;
  size_t size = sizeof cores;
  if (sysctlbyname("hw.physicalcpu", &cores, &size, nullptr, 0) != 0) return 1;
  return std::max(1, cores);
}

}  // namespace plumbline
