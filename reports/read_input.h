// Record files as reports get them, read one record at a time: of a soak the last round stands for
// all of them in the tables, and the rounds become series (soak_data.h), so that memory does not
// grow with the file; very many records are merged (record_set.h). And what lies beside them in the
// folder of a run, so that an old run gets the same report as the live one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.h"
#include "reports/import/importer.h"
#include "reports/record_set.h"
#include "reports/report.h"

namespace plumbline {

// How far a run got: run.json in its folder, written when the run begins and again when it ends. So
// a report that is made later knows what is missing, and that a run was killed.

inline constexpr const char* kRunStateFile = "run.json";

struct RunState {
  // "running" (a killed run stays so), "finished", "interrupted" or "stopped".
  std::string state = "running";
  std::string reason;   // of "stopped"
  size_t planned = 0;   // cells, each as often as it has launches; 0 = not known (a soak)
  size_t measured = 0;  // those that have a record; of a run that has ended
};

// Replaces the file of this folder.
Status keep_run_state(const std::string& folder, const RunState& state);
// A folder without the file has a finished run as far as anybody knows. An Error: it cannot be
// read.
Expected<RunState> read_run_state(const std::string& folder);

// What is missing and how to get it, in a sentence; empty when nothing is. `folder` is for the
// hint.
std::string incomplete_text(const RunState& state, const std::string& folder);

// What lies beside the records of a run and belongs to its story: what the probes found
// (doctor.json), the scenario's checklist (checklist.json), the scenario itself (scenario.json),
// and how far it got (run.json). Files that cannot be read are a note; the records still count.

inline constexpr const char* kDoctorFile = "doctor.json";
inline constexpr const char* kChecklistFile = "checklist.json";
inline constexpr const char* kScenarioFile = "scenario.json";

// Adds what lies in `folder` to the input. The scenario is kept only when there was none yet.
void read_run_folder(const std::string& folder, ReportInput& input);

// Contents of kChecklistFile: [{"item", "probes", "cells"}].
std::string checklist_json(const std::vector<ChecklistItem>& checklist);

// Appends what the files hold, in their order; events.jsonl beside a file is read with it. An
// unreadable event file is a note: the records still count. "-" is the standard input.
// Files of other tools (reports/import/importer.h) count like record files; `assume` is what the
// user says that they do not.
Status read_report_input(const std::vector<std::string>& paths, ReportInput& input,
                         const Assumptions& assume = {}, const RecordSet::Limits& limits = {});

}  // namespace plumbline
