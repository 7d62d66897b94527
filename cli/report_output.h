// Reports of a finished run: which rows to run, where their files go, and what is printed. Shared
// by `run` and `report`.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/report.h"

namespace plumbline {

// Writes the named reports: those with a file name into `directory`, the others to context.out; on
// a terminal that is wide enough, `console` brings `terminal` along.
// Returns the paths written; a report that cannot be made (no gnuplot) is told on context.err with
// its reason, and the others still come.
std::vector<std::string> write_reports(const ReportInput& input,
                                       const std::vector<std::string>& names,
                                       const std::string& directory, Context& context);

}  // namespace plumbline
