// Checks that need several values of a scenario at once, or names from the tables of other folders:
// options, algorithms that cannot do what is asked, more ranks than places, ports that collide.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/options/options.h"
#include "scenarios/problems.h"

namespace plumbline {

// Where this option is set instead, when it has no place in a scenario, or (`of_block`) in one
// block of it; empty when it has.
std::string option_place(std::string_view name, bool of_block);

// What options that name rows of a table may be, for OptionSources and OptionSet.
OptionChoices option_choices(const Vocabulary& vocabulary);

// What makes no sense in a block of operations; false = there is nothing to expand.
bool check_operation_block(const MatrixBlock& block, const Scenario& scenario,
                           const Vocabulary& vocabulary, Problems& problems);

void check_scenario(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems);

}  // namespace plumbline
