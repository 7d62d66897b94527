// What one rank must have in memory to measure a cell, before it begins: the arrays of the
// operation (several where they take turns, and those of operations that will be verified), the
// schedule's scratch, the patterns that results are compared with. Pure.
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/options/options.h"
#include "core/record/cell.h"

namespace plumbline {

// Bytes; of the rank that needs most. An error where there is no such operation or algorithm. Which
// of them a kind of cell needs says collectives/cell_run.h.
Expected<uint64_t> memory_of_operations(const Cell& cell, bool verified, const OptionSet& options);
Expected<uint64_t> memory_of_links(const Cell& cell, bool verified, const OptionSet& options);
Expected<uint64_t> memory_of_roof(const Cell& cell, bool verified, const OptionSet& options);

}  // namespace plumbline
