// Record files as reports get them, read one record at a time: of a soak the last round stands for
// all of them in the tables, and the rounds become series (soak_data.h), so that memory does not
// grow with the file.
#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace plumbline {

// Appends what the files hold, in their order; events.jsonl beside a file is read with it. An
// unreadable event file is a note: the records still count.
Status read_report_input(const std::vector<std::string>& paths, ReportInput& input);

}  // namespace plumbline
