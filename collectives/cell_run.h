// How each kind of cell (core/record/cell_kind.h) is measured: the one table through which ranks
// run cells. A row says what to call on every rank, what memory a rank must have for it, and how
// long it may take.
#pragma once

#include <span>

#include "collectives/measure.h"

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

Expected<Measurement> run_cell(const Cell& cell, const MeasureSettings& settings,
                               const MeasureContext& context);

}  // namespace plumbline
