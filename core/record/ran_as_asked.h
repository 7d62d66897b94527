// Whether a measurement is one of what was asked for: numbers of one transport under the name of
// another would be worse than none. Pure.
#pragma once

#include "core/error.h"
#include "core/record/cell.h"
#include "core/record/record.h"

namespace plumbline {

// kMismatch, cause config.mismatch, when it ran over another transport than the cell names, or,
// where the cell says `auto`, than the option does. `auto` in both is any; what was skipped or
// failed by an error ran over none.
Status ran_as_asked(const Cell& cell, const Measurement& measurement,
                    const std::string& option = "auto");

}  // namespace plumbline
