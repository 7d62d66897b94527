#include <sys/sysctl.h>

#include <array>
#include <cstdio>

#include "transport/rdma/verbs.h"

namespace plumbline {

std::vector<std::string> verbs_library_names() {
  return {"/usr/lib/librdma.dylib", "librdma.dylib", "libibverbs.dylib"};
}

// Until macOS 26.3 messages had 4 KiB at most (MLX's jaccl).
size_t most_message_of_system() {
  std::array<char, 32> version{};
  size_t size = version.size() - 1;
  int major = 0, minor = 0;
  if (sysctlbyname("kern.osproductversion", version.data(), &size, nullptr, 0) != 0 ||
      std::sscanf(version.data(), "%d.%d", &major, &minor) < 1) {
    return 0;
  }
  return major < 26 || (major == 26 && minor < 3) ? 4096 : 0;
}

// Vendors' libraries crash and hang: nobody loads one that he was not told to.
bool may_have_rdma_devices() { return false; }

std::string gid_type(const std::string&, int, int) { return {}; }

bool loads_libraries() { return true; }

}  // namespace plumbline
