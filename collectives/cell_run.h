// How each kind of cell (core/record/cell.h) is measured: the one table through which ranks
// run cells. A row says what to call on every rank, what memory a rank must have for it, and how
// long it may take. And what is known of a cell before it runs, by its settings and schedules: how
// long to wait for it, its memory, the bare transfer that bounds it from below. That is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collectives/measure.h"
#include "collectives/schedule.h"
#include "core/error.h"
#include "core/op.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/stats/noise.h"

namespace plumbline {

struct CellRunRow {
  CellKind kind;
  // Called on every rank of the group on the same cell at the same time. An Error means that the
  // group is broken.
  Expected<Measurement> (*run)(const Cell& cell, const MeasureSettings& settings,
                               const MeasureContext& context);
  // Bytes that a rank must have in memory before it begins; of the rank that needs most. Pure.
  Expected<uint64_t> (*memory)(const Cell& cell, bool verified, const OptionSet& options);
  // What it may take longer than the times and counts of the settings say, ms; null = nothing.
  int64_t (*longer_ms)(const Cell& cell, const MeasureSettings& settings);
};

std::span<const CellRunRow> cell_run_table();
const CellRunRow& cell_run_of(CellKind kind);

// Why a cell's groups by colour cannot be had, and what would work; empty = they can, or all ranks
// are one.
std::string groups_unsupported(const Cell& cell);

// What rank 0 asks an algorithm for to do this cell; segments are made as large as the arrays,
// which changes nothing but the number of steps. Of a list of arrays: its largest operation, whose
// algorithm is that of all where it is chosen here. `apart`, which must outlive the result: ranks
// that are not connected. Pure.
ScheduleRequest schedule_request_of(const Cell& cell, Op op, DType dtype,
                                    const RankPairs* apart = nullptr);

// The full name of the algorithm with which a cell runs where these pairs of ranks are not
// connected, or where that decides what `auto` takes: every two ranks have a link that no others
// use (`own_cables`). What the cell says where neither is so, and where it has none. Options that
// the cell sets itself are added to `options`. An Error says why it cannot. Not for links, which
// are measured pair by pair, nor for roofs, which say themselves what they cannot. Pure.
Expected<std::string> algorithm_between(const Cell& cell, const OptionSet& options,
                                        const RankPairs& apart, bool own_cables = false);

// An error where the cell names the order of a ring (`ring:0-2-1-3`) of which neighbours are among
// these pairs, with an order that works. Whoever names one has looked at the cables. Pure.
Status order_connects(const Cell& cell, const RankPairs& apart);

Expected<Measurement> run_cell(const Cell& cell, const MeasureSettings& settings,
                               const MeasureContext& context);

// Milliseconds; no cell that goes on as its settings allow takes longer. Every operation has its
// own watchdog inside the ranks: this one only catches ranks that are stuck outside of operations.
int64_t cell_limit_ms(const Cell& cell, const MeasureSettings& settings);

// What one rank must have in memory to measure a cell, before it begins: the arrays of the
// operation (several where they take turns, and those of operations that will be verified), the
// schedule's scratch, the patterns that results are compared with. Pure.
//
// Bytes; of the rank that needs most. An error where there is no such operation or algorithm. Which
// of them a kind of cell needs says the table.
Expected<uint64_t> memory_of_operations(const Cell& cell, bool verified, const OptionSet& options);
Expected<uint64_t> memory_of_links(const Cell& cell, bool verified, const OptionSet& options);
Expected<uint64_t> memory_of_roof(const Cell& cell, bool verified, const OptionSet& options);

// Which bare transfer bounds an operation from below, by its schedules. Pure.
//
// Larger operations are bounded by rates, not by the latency of a message.
inline constexpr uint64_t kMostFloorBytes = 1 << 20;
inline constexpr int kMostFloorRanks = 64;

// Every byte that one connection must carry in one direction, as if they were one message: no
// schedule that sends them in parts is faster. Both ways at once where the same connection carries
// as many back. Nothing for cells that are no latencies of our own engine, that send nothing, or
// that are larger than what is measured.
std::optional<Floor> floor_of(const Cell& cell, const OptionSet& options,
                              const RankPairs& apart = {});

// What the operation of a cell costs by its schedules: the longest chain of messages, and of each
// kind of bytes those of the rank that has most (core/stats/prediction.h). Pipelined algorithms
// count the chain of one segment. Nothing for cells of other engines, without data and without
// messages, and for more than kMostFloorRanks.
std::optional<OperationCost> operation_cost_of(const Cell& cell, const OptionSet& options,
                                               const RankPairs& apart = {});

}  // namespace plumbline
