// The flags of a comparison, which `compare` and `run --interleave` share.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/compare/compare.h"

namespace plumbline {

// --min-effect, --alpha and --ignore; an Error names the flag and what it takes.
Expected<CompareRule> compare_rule(const Args& args);

// The fields of a cell that --ignore may name.
std::vector<std::string> cell_fields();

}  // namespace plumbline
