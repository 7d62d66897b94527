// The report `records`: the records themselves, as lines of a records.jsonl. Turns results of other
// tools into a records.jsonl that can be kept beside our own.
#include "reports/report.h"

namespace plumbline {
namespace {

Expected<std::vector<std::string>> write_records(const ReportInput& input,
                                                 const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the records report needs an output stream");
  RecordLines lines;
  for (const Record& record : input.records) *target.out << lines.text_of(record);
  return std::vector<std::string>{};
}

}  // namespace

ReportRow records_report() {
  return {{"records",
           "the records as records.jsonl, for what was imported from other tools",
           {},
           {},
           ""},
          "",
          write_records};
}

}  // namespace plumbline
