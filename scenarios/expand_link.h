// Matrix blocks of kind "link": one cell per measure, number of ranks and the parameters that this
// measure has (message sizes, numbers of streams, rates). Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/expand.h"
#include "scenarios/problems.h"

namespace plumbline {

inline constexpr const char* kLinkOp = "link";  // kind and operation of such cells

bool is_link(const MatrixBlock& block);
std::vector<PlanCell> expand_links(const MatrixBlock& block, const ExpandContext& context);
// Which keys of such a block make no sense, beyond their shapes.
void check_link_block(const MatrixBlock& block, Problems& problems);
// Rough duration of a cell, in seconds.
double estimate_link_s(const PlanCell& cell);

}  // namespace plumbline
