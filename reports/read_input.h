// Record files as reports get them, read one record at a time: of a soak the last round stands for
// all of them in the tables, and the rounds become series (soak_data.h), so that memory does not
// grow with the file; very many records are merged (record_set.h).
#pragma once

#include <string>
#include <vector>

#include "reports/import/importer.h"
#include "reports/record_set.h"
#include "reports/report.h"

namespace plumbline {

// Appends what the files hold, in their order; events.jsonl beside a file is read with it. An
// unreadable event file is a note: the records still count. "-" is the standard input.
// Files of other tools (reports/import/importer.h) count like record files; `assume` is what the
// user says that they do not.
Status read_report_input(const std::vector<std::string>& paths, ReportInput& input,
                         const Assumptions& assume = {}, const RecordSet::Limits& limits = {});

}  // namespace plumbline
