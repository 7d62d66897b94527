#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launch/process.h"

namespace plumbline {

// One that was orphaned before this call ends when its input ends. It cannot be told from a child
// of process 1, which in a container may well be plumbline itself.
void die_with_parent(int signal) { prctl(PR_SET_PDEATHSIG, signal); }

bool open_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0; }

}  // namespace plumbline
