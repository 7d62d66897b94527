// What an agent can tell about its own host without any tool: names and addresses, limits of
// socket buffers, the verbs library, what this process may do, and what the processes that hold
// ports are there for. Platform code: own_process_linux.cc, own_process_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "probes/evidence.h"

namespace plumbline {

// Asks the system's resolver for all names side by side; those without an answer at the deadline
// say so. An address as a name is not asked for.
std::vector<NameEvidence> resolve_names(std::vector<NameEvidence> names, Deadline deadline);

// Opens a TCP socket on loopback with these buffers and reads what was granted.
BufferEvidence try_buffers(int64_t bytes);

// Loads the verbs library as a program would and notes its name or the loader's error; asks it for
// its devices when the kernel has some. A static program, which loads nothing, only looks whether
// the file is there.
void try_verbs_library(HostEvidence& host);

// --- what differs by platform -------------------------------------------------------------------

// "linux" | "macos".
const char* own_system();
// The file of a library in the folders where the system's loader looks; empty = it is not there.
std::string library_file(const std::string& name);
// "capture", "raw".
std::vector<std::string> own_privileges();
// Process name, age, role and run of the sockets' holders. A holder that lives
// in another network namespace is left out: a peer machine could not see it either.
void complete_sockets(HostEvidence& host);

struct HolderRole {
  std::string role, run;  // SocketEvidence::role and ::run
};
HolderRole role_of_process(int64_t pid);
// Of the process that port_owner() names. To be asked at once: an agent that served another
// diagnosis is gone a moment later.
HolderRole role_of_holder(const std::string& holder);

}  // namespace plumbline
