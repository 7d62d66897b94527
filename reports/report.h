// A report reads finished records and writes text or files; it never sees a running test. Each is
// one file and one row of reports.cc. Statistics are recomputed from samples here, so a live run
// and last month's file take the same path.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "core/error.h"
#include "core/host/requirement.h"
#include "core/record/expect.h"
#include "core/record/record.h"
#include "reports/soak/soak_data.h"

namespace plumbline {

// An item of a scenario's checklist: decided by the checks of these probes, or by these cells.
struct ChecklistItem {
  std::string item;
  std::vector<std::string> probes;
  std::set<std::string> cells;  // ids
};

struct ReportInput {
  std::vector<Record> records;  // all kinds, roofs included, in file order
  std::vector<Check> checks;    // of the probes that ran before, may be empty
  std::vector<Finding> findings;
  std::vector<ChecklistItem> checklist;
  std::vector<RuleVerdict> rules;  // of `expect`, in the order of the file; may be empty
  // Where rules came from that nobody named, in words: files beside the records.
  std::vector<std::string> rule_sources;
  std::vector<std::string> notes;  // warnings of reading, of other tools' files ...
  // Runs that did not measure all that they planned, a sentence each (see read_input.h).
  std::vector<std::string> incomplete;
  std::vector<SoakRun> soaks;  // of `run --for`: all rounds; records has the last one's
  // Where `records` came from when there were so many that launches had to be merged (see
  // record_set.h); else empty. A report that lists every record reads them again.
  std::vector<std::string> merged_files;
  std::string scenario_text;  // the scenario as the run read it; empty = not kept
};

struct ReportTarget {
  std::ostream* out = nullptr;  // for text reports
  std::string directory;        // for reports that write files ("plots")
  int width = 0;                // terminal columns, 0 = unlimited
  bool colour = false;
};

struct ReportRow {
  Descriptor descriptor;
  const char* file_name;  // "report.md": where `run --out DIR` puts it; "" = standard output;
                          // "plots/" = a folder of files
  // Returns the paths of files it wrote beside `out` (plots).
  Expected<std::vector<std::string>> (*write)(const ReportInput& input, const ReportTarget& target);
};

const std::vector<ReportRow>& report_table();
const ReportRow* find_report(const std::string& name);

}  // namespace plumbline
