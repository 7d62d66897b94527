// A plan as text, for `plan` and `run --dry-run`.
#pragma once

#include <ostream>

#include "scenarios/plan.h"

namespace plumbline {

void print_plan(const Plan& plan, std::ostream& out);

}  // namespace plumbline
