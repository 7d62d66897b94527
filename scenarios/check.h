// Checks that need several values of a scenario at once, or names from the tables of other folders:
// options, algorithms that cannot do what is asked, more ranks than places, ports that collide.
// Pure.
#pragma once

#include "scenarios/problems.h"

namespace plumbline {

void check_scenario(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems);

}  // namespace plumbline
