// How long a coordinator waits for the ranks' answer to one cell. Pure.
#pragma once

#include <cstdint>

#include "collectives/measure.h"
#include "core/record/cell.h"

namespace plumbline {

// Milliseconds; no cell that goes on as its settings allow takes longer. Every operation has its
// own watchdog inside the ranks: this one only catches ranks that are stuck outside of operations.
int64_t cell_limit_ms(const Cell& cell, const MeasureSettings& settings);

}  // namespace plumbline
