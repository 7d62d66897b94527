#include <libproc.h>
#include <unistd.h>

#include "core/host/own_memory.h"

namespace plumbline {

std::optional<uint64_t> resident_bytes() {
  proc_taskinfo info{};
  const int size = proc_pidinfo(getpid(), PROC_PIDTASKINFO, 0, &info, sizeof info);
  if (size != static_cast<int>(sizeof info)) return std::nullopt;
  return info.pti_resident_size;
}

}  // namespace plumbline
