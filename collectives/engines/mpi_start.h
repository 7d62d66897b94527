// How an MPI comes up in a process of ours, which is all that differs between the modules of Open
// MPI and MPICH (openmpi.cc, mpich.cc); what they do then is the same (mpi.cc). MPI cannot be
// brought up twice in a process, so that it is a matter of the process, not of a group. Calls on
// the rank's thread.
#pragma once

#include <functional>
#include <string>

#include "collectives/engine_module.h"

namespace plumbline {

// Why this MPI cannot be used in this process, or for so many ranks; empty = it can.
std::string mpi_unavailable();
std::string mpi_unsupported(int ranks);

// MPI_COMM_WORLD is the group's ranks afterwards.
Status start_mpi(ModuleHost& host, Deadline deadline);
// Over what it sends, as far as it can be told.
std::string mpi_transport();

// An error code of MPI in our words.
Error mpi_error(int code, const std::string& doing);

// For start_mpi(): MPI_Init_thread() on a thread of its own, because it waits without end where
// ranks are missing; `meanwhile` is called again and again on this one and may sleep a little.
Status initialize_mpi(ModuleHost& host, Deadline deadline,
                      const std::function<Status()>& meanwhile);

// The number of ranks that a launcher says in this variable; 0 = it is not set.
int ranks_by(const char* variable);

}  // namespace plumbline
