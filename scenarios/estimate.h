// How long a cell will take, roughly: for --dry-run and for the first minutes of a progress bar.
// Later the runner scales by what it has measured. Pure.
#pragma once

#include "scenarios/plan.h"

namespace plumbline {

// Seconds, from a crude model of one operation over TCP on one machine.
double estimate_cell_s(const PlanCell& cell);
// Seconds that a group of ranks needs to start and connect.
double estimate_start_s(int ranks);

}  // namespace plumbline
