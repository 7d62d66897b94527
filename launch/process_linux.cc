#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>

#include "launch/process.h"

namespace plumbline {

// One that was orphaned before this call ends when its input ends. It cannot be told from a child
// of process 1, which in a container may well be plumbline itself.
void die_with_parent(int signal) { prctl(PR_SET_PDEATHSIG, signal); }

bool open_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0; }

Expected<std::string> own_program_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length > 0) return std::string(path.data(), static_cast<size_t>(length));
  const int problem = errno;
  // Without /proc there is still what the kernel was told to start, see getauxval(3).
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started != nullptr && realpath(started, path.data()) != nullptr) return path.data();
  return fail_errno(ErrorCode::kSystem, "read /proc/self/exe", problem);
}

}  // namespace plumbline
