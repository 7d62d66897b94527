// Reports of finished runs: which rows to run, where their files go, and what is shown.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "reports/report.h"
#include "runs/caller.h"

namespace plumbline {

// A text report into a file. One that cannot be written whole is an Error, and removed: half a
// report looks like a whole one.
Status write_report_file(const ReportRow& row, const ReportInput& input, const std::string& path);

struct WrittenReports {
  std::vector<std::string> paths;
  bool failed = false;  // one could not be written, for another reason than a missing program
};

// For reports that are to be shown.
struct ReportLook {
  int width = 0;  // columns; 0 = unlimited
  bool colour = false;
  bool terminal = false;  // a person looks at them as they come
};
struct ReportScreen {
  ReportLook look;
  std::ostream* out = nullptr;
};

// Writes the named reports: those with a file name into `directory`, the others to the screen; on a
// terminal that is wide enough, `console` brings `terminal` along. Of a report that cannot be made
// the reason is said, and the others still come.
WrittenReports write_reports(const ReportInput& input, const std::vector<std::string>& names,
                             const std::string& directory, const ReportScreen& screen,
                             Caller& caller);

}  // namespace plumbline
