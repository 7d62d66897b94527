// What a process that holds a port of the job is there for, by the facts of its own host: its
// arguments, the run id in its environment, and who stands above it. A process is never adopted by
// a coordinator: as long as one (or the sshd, or the launcher, that stands for it) is among its
// ancestors, the run is alive, and whose coordinator is gone is a child of the system's first
// process. So no number of a process is ever trusted beyond the moment in which it was read.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

struct HolderRole {
  std::string role, run;  // SocketEvidence::role and ::run
};
HolderRole role_of_process(int64_t pid);
// Of the process that port_owner() names. To be asked at once: an agent that served another
// diagnosis is gone a moment later.
HolderRole role_of_holder(const std::string& holder);

}  // namespace plumbline
