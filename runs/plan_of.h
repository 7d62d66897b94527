// The plan of a scenario as this machine would run it.
#pragma once

#include <cstdint>

#include "core/options/options.h"
#include "runs/caller.h"
#include "scenarios/plan.h"
#include "scenarios/scenario.h"

namespace plumbline {

// From the clock, for orders that no one chose.
uint64_t fresh_seed();

// Says which cells are left out for want of cores; `caller` may be null.
Expected<Plan> plan_of(const Scenario& scenario, const OptionSet& options,
                       const Vocabulary& vocabulary, const PlanFilter& filter, uint64_t seed,
                       Caller* caller);

// The largest number of ranks of its cells.
int largest_world(const Plan& plan);

}  // namespace plumbline
