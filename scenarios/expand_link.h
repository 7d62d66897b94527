// Matrix blocks of kind "link": one cell per measure, number of ranks and the parameters that this
// measure has (message sizes, numbers of streams, rates). Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/expand.h"
#include "scenarios/problems.h"

namespace plumbline {

inline constexpr const char* kLinkOp = "link";  // the operation of such cells

std::vector<Cell> link_cells(const MatrixBlock& block, const ExpandContext& context);
// Which keys of such a block make no sense, beyond their shapes. Always enough of it to be
// expanded.
bool check_link_block(const MatrixBlock& block, const Scenario& scenario,
                      const Vocabulary& vocabulary, Problems& problems);
// Rough duration of a cell, in seconds.
double estimate_link_s(const PlanCell& cell);

}  // namespace plumbline
