// Whether this system lets one process read the memory of another one, as ranks do.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace plumbline::test {

// Why a child of this process may not read another one (yama, a container's filter), for
// GTEST_SKIP; "" = it may. Asks the system itself, so that a defect of ours skips nothing.
inline std::string no_process_reads() {
  int here = 0, there = 0;
  const pid_t read = ::fork();
  if (read == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  const pid_t reader = ::fork();
  if (reader == 0) {
    const iovec to{&here, sizeof here}, from{&there, sizeof there};
    ::_exit(::process_vm_readv(read, &to, 1, &from, 1, 0) < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(reader, &status, 0);
  ::kill(read, SIGKILL);
  ::waitpid(read, nullptr, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return std::string("no process may read another one here: ") + std::strerror(WEXITSTATUS(status));
}

}  // namespace plumbline::test
