#include <limits.h>
#include <mach-o/dyld.h>
#include <stdlib.h>

#include <array>

#include "launch/process.h"

namespace plumbline {

// macOS has no parent-death signal: ranks end when their standard input ends.
void die_with_parent() {}

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
