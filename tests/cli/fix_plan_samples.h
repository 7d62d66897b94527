// Diagnoses that lead to commands of every kind, for attacks on the plan.
#pragma once

#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline::test {

struct PlanSample {
  std::string name;
  EvidenceSet evidence;
};
std::vector<PlanSample> plan_samples();

}  // namespace plumbline::test
