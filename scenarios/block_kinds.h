// How a block of the matrix becomes cells, by the kind of cell that it asks for
// (core/record/cell.h, which also says which keys the kind has): one row for each kind that a
// scenario can name. Pure.
#pragma once

#include <span>
#include <vector>

#include "scenarios/expand.h"
#include "scenarios/json_text.h"

namespace plumbline {

struct BlockKindRow {
  CellKind kind;
  // The one operation of such blocks, which alone means this kind; nullptr = those of the operation
  // table.
  const char* own_op;
  // Reads the keys that no other kind has; nullptr = there are none.
  void (*read)(const Json& block, const std::string& where, Problems& problems, MatrixBlock& out);
  // What makes no sense beyond the shapes of its keys; false = too little of it to be expanded.
  bool (*check)(const MatrixBlock& block, const Scenario& scenario, const Vocabulary& vocabulary,
                Problems& problems);
  // Every combination of its lists; stops soon beyond kMaxPlanCells.
  std::vector<Cell> (*cells)(const MatrixBlock& block, const ExpandContext& context);
};

std::span<const BlockKindRow> block_kind_table();
const BlockKindRow& block_kind_of(CellKind kind);

}  // namespace plumbline
