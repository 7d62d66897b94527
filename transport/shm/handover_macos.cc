#include <unistd.h>

#include <array>

#include "transport/shm/handover.h"

namespace plumbline {

// Not TMPDIR, which processes of one user need not have in common (one that came by ssh, say).
std::string handover_directory() {
  std::array<char, 1024> path{};
  const size_t length = ::confstr(_CS_DARWIN_USER_TEMP_DIR, path.data(), path.size());
  if (length == 0 || length > path.size()) return {};
  std::string directory = path.data();
  if (!directory.ends_with('/')) directory += '/';
  return directory;
}

int receive_flags() { return 0; }  // what comes is marked afterwards, handover.cc

}  // namespace plumbline
