#include <unistd.h>

#include <fstream>

#include "core/host/own_memory.h"

namespace plumbline {

// The second number of /proc/self/statm (proc(5)): resident pages.
std::optional<uint64_t> resident_bytes() {
  uint64_t total = 0, resident = 0;
  std::ifstream file("/proc/self/statm");
  const long page = sysconf(_SC_PAGESIZE);
  if (!(file >> total >> resident) || page <= 0) return std::nullopt;
  return resident * static_cast<uint64_t>(page);
}

}  // namespace plumbline
