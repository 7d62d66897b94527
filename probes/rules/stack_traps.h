// What is wrong with what a stack would take on these hosts: its model's own traps, and, where the
// ladder has tried the addresses that it takes, whether they lead anywhere. Pure functions,
// thread-safe.
#pragma once

#include <vector>

#include "probes/checks.h"
#include "probes/evidence.h"

namespace plumbline {

// Empty where the evidence holds no plan.
std::vector<StackTrap> traps_of(const EvidenceSet& evidence);
// The check that speaks of a trap.
Subject stack_subject(const StackTrap& trap);

}  // namespace plumbline
