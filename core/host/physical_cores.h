// How many cores this process may use, with the hardware threads of one core counted once: what
// Open MPI takes for the slots of a host that names none.
#pragma once

namespace plumbline {

int physical_cores();  // at least 1

}  // namespace plumbline
