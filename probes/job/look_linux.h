// What /proc says of a process, as text: pure, thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "probes/job_evidence.h"

namespace plumbline {

// Fills in what "4711 (any ) name) S 4700 ..." of /proc/PID/stat tells, all but the PID; false when
// it is none.
bool parse_process_stat(const std::string& text, int64_t ticks_per_second, JobProcess& process);

// Whose MPI library stands in this text of /proc/PID/maps: "openmpi", "mpich", or nobody's.
std::string mpi_in(const std::string& maps);

}  // namespace plumbline
