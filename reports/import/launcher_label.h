// The mark that a launcher puts before every line of its processes: "0: " (srun --label),
// "[1,0]<stdout>:" (mpirun --tag-output of Open MPI, whose version 5 may name the job before the
// comma), "[0] " (mpiexec -l of MPICH and Intel MPI). Pure.
#pragma once

#include <string_view>

namespace plumbline {

// Takes the mark off the line and returns it, which is the same for all lines of one process and
// one stream; empty when there is none.
std::string_view take_launcher_label(std::string_view& line);

}  // namespace plumbline
