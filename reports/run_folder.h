// What lies beside the records of a run and belongs to its story: what the probes found
// (doctor.json), the scenario's checklist (checklist.json), the scenario itself (scenario.json),
// and how far it got (run.json, run_state.h). So an old run gets the same report as the live one.
// Files that cannot be read are a note; the records still count.
#pragma once

#include <string>

#include "reports/report.h"

namespace plumbline {

inline constexpr const char* kDoctorFile = "doctor.json";
inline constexpr const char* kChecklistFile = "checklist.json";
inline constexpr const char* kScenarioFile = "scenario.json";

// Adds what lies in `folder` to the input. The scenario is kept only when there was none yet.
void read_run_folder(const std::string& folder, ReportInput& input);

// Contents of kChecklistFile: [{"item", "probes", "cells"}].
std::string checklist_json(const std::vector<ChecklistItem>& checklist);

}  // namespace plumbline
