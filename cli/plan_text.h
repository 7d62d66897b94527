// A plan as text, for `plan` and `run --dry-run`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "scenarios/plan.h"

namespace plumbline {

struct PlanLook {
  bool every_cell = false;  // one row per cell, with its id; else one per series
  int width = 0;            // columns; 0 = unlimited
  bool colour = false;
};
// A series is what differs in its sizes, and in lists that are complete for all of these. All roofs
// are one row.
void print_plan(const Plan& plan, const PlanLook& look, std::ostream& out);

// What stands below it: each on lines of at most `width` columns.
void print_lines(const std::vector<std::string>& texts, int width, std::ostream& out);

// A rough time for people: "<1 s", "50 s", "3 min", "1 h 20 min", "2 d 3 h".
std::string rough_time(double seconds);

}  // namespace plumbline
