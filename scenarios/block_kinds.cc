#include "scenarios/block_kinds.h"

#include <algorithm>

#include "scenarios/expand.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

constexpr BlockKindRow kBlockKinds[] = {
    {CellKind::kLatency, nullptr, nullptr, check_operation_block, operation_cells},
    {CellKind::kBandwidth, nullptr, nullptr, check_operation_block, operation_cells},
    {CellKind::kThroughput, nullptr, nullptr, check_operation_block, operation_cells},
    {CellKind::kCheck, nullptr, nullptr, check_operation_block, operation_cells},
    {CellKind::kLink, kLinkOp, read_link_keys, check_link_block, link_cells},
    {CellKind::kEndpoint, kEndpointOp, read_endpoint_keys, check_endpoint_block, endpoint_cells},
};

}  // namespace

std::span<const BlockKindRow> block_kind_table() { return kBlockKinds; }

// Only kinds that can be asked for have blocks.
const BlockKindRow& block_kind_of(CellKind kind) {
  return *std::find_if(std::begin(kBlockKinds), std::end(kBlockKinds),
                       [kind](const BlockKindRow& row) { return row.kind == kind; });
}

}  // namespace plumbline
