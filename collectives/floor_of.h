// Which bare transfer bounds an operation from below, by its schedules. Pure.
#pragma once

#include <optional>

#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/stats/floor.h"

namespace plumbline {

// Larger operations are bounded by rates, not by the latency of a message.
inline constexpr uint64_t kMostFloorBytes = 1 << 20;
inline constexpr int kMostFloorRanks = 64;

// Every byte that one connection must carry in one direction, as if they were one message: no
// schedule that sends them in parts is faster. Both ways at once where the same connection carries
// as many back. Nothing for cells that are no latencies of our own engine, that send nothing, or
// that are larger than what is measured.
std::optional<Floor> floor_of(const Cell& cell, const OptionSet& options);

}  // namespace plumbline
