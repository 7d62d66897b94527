// Reports of a finished run: which rows to run, where their files go, and what is printed. Shared
// by `run` and `report`.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/report.h"

namespace plumbline {

// A text report into a file. One that cannot be written whole is an Error, and removed: half a
// report looks like a whole one.
Status write_report_file(const ReportRow& row, const ReportInput& input, const std::string& path);

struct WrittenReports {
  std::vector<std::string> paths;
  bool failed = false;  // one could not be written, for another reason than a missing program
};

// Writes the named reports: those with a file name into `directory`, the others to context.out; on
// a terminal that is wide enough, `console` brings `terminal` along. A report that cannot be made
// is told on context.err with its reason, and the others still come.
WrittenReports write_reports(const ReportInput& input, const std::vector<std::string>& names,
                             const std::string& directory, Context& context);

}  // namespace plumbline
