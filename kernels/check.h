// Does a kernel set of this machine compute what the scalar reference computes? Every kernel of the
// set is run over awkward lengths, alignments, aliasing and special values and compared bit for
// bit; `plumbline selftest` prints what differs. Takes well under a second per set. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace plumbline {

// One line per kernel that differs, with the first element where it does; empty when all agree.
// fast_math kernels are compared where no NaN and no zero takes part.
std::vector<std::string> check_kernels(const KernelSet& set);

}  // namespace plumbline
