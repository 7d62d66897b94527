// The report for a terminal.
#include "reports/content.h"
#include "reports/report.h"
#include "reports/soak/soak_tables.h"

namespace plumbline {
namespace {

Expected<std::vector<std::string>> write_console(const ReportInput& input,
                                                 const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the console report needs an output stream");
  const View view = make_view(input.records);
  Document document;
  add_introduction(input, view, document);
  add_checklist(input, view, document);
  add_rules(input, document);
  add_tables(view, document);
  add_soaks(input.soaks, document);
  add_summary(input, view, document);
  render_text(document, target.width, target.colour, *target.out);
  return std::vector<std::string>{};
}

}  // namespace

ReportRow console_report() {
  return {{"console", "tables for the terminal, columns as nccl-tests has them", {}, {}, ""},
          "",
          write_console};
}

}  // namespace plumbline
