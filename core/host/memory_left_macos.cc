#include <mach/mach.h>
#include <unistd.h>

#include "core/host/memory_left.h"

namespace plumbline {

uint64_t memory_left() {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages),
                        &count) != KERN_SUCCESS) {
    return 0;
  }
  const uint64_t free_pages = uint64_t{pages.free_count} + pages.inactive_count;
  return free_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace plumbline
