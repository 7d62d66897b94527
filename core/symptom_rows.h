// The table of core/symptom.h by where the messages come from, one file each.
#pragma once

#include <vector>

#include "core/symptom.h"

namespace plumbline {

std::vector<SymptomRow> system_symptoms();
std::vector<SymptomRow> program_symptoms();
std::vector<SymptomRow> ssh_symptoms();

}  // namespace plumbline
