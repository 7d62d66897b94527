#include "collectives/cell_run.h"

#include "collectives/footprint.h"
#include "collectives/links/link_measure.h"

namespace plumbline {
namespace {

constexpr CellRunRow kRuns[] = {
    {CellKind::kLatency, measure, memory_of_operations, nullptr},
    {CellKind::kBandwidth, measure, memory_of_operations, nullptr},
    {CellKind::kThroughput, measure, memory_of_operations, nullptr},
    {CellKind::kCheck, measure, memory_of_operations, nullptr},
    {CellKind::kLink, measure_links, memory_of_links, link_cell_limit_ms},
    {CellKind::kRoof, measure_roof, memory_of_roof, nullptr},
};

}  // namespace

std::span<const CellRunRow> cell_run_table() { return kRuns; }

const CellRunRow& cell_run_of(CellKind kind) { return kRuns[static_cast<size_t>(kind)]; }

Expected<Measurement> run_cell(const Cell& cell, const MeasureSettings& settings,
                               const MeasureContext& context) {
  return cell_run_of(cell.kind).run(cell, settings, context);
}

}  // namespace plumbline
