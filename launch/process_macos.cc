#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include "launch/process.h"

namespace plumbline {

// macOS has no parent-death signal: ranks end when their standard input ends.
void die_with_parent(int) {}

// No pipe2: a child spawned by another thread between the two calls would inherit the ends.
bool open_pipe(int ends[2]) {
  if (pipe(ends) != 0) return false;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return true;
}

Expected<std::string> own_program_path() {
  std::array<char, PATH_MAX> path{};
  uint32_t size = path.size();
  if (_NSGetExecutablePath(path.data(), &size) != 0) {
    return fail(ErrorCode::kSystem, "the path of this program is too long");
  }
  std::array<char, PATH_MAX> real{};
  if (realpath(path.data(), real.data()) == nullptr) {
    return fail_errno(ErrorCode::kSystem, "resolve the path of this program", errno);
  }
  return std::string(real.data());
}

}  // namespace plumbline
