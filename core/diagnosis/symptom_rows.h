// The table of core/diagnosis/symptom.h by where the messages come from, one file each.
#pragma once

#include <vector>

#include "core/diagnosis/symptom.h"

namespace plumbline {

std::vector<SymptomRow> system_symptoms();
std::vector<SymptomRow> program_symptoms();
std::vector<SymptomRow> ssh_symptoms();

}  // namespace plumbline
