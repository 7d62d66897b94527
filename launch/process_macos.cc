#include <fcntl.h>
#include <unistd.h>

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

}  // namespace plumbline
