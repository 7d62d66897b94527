// The one table of reports. A new one is a file with such a function, a line here, and its test.
#include "reports/report.h"

namespace plumbline {

ReportRow terminal_report();     // terminal.cc
ReportRow console_report();      // console.cc
ReportRow csv_report();          // csv.cc
ReportRow plots_report();        // plots.cc
ReportRow links_report();        // links.cc
ReportRow soak_report();         // soak.cc
ReportRow markdown_report();     // markdown.cc
ReportRow junit_report();        // junit.cc
ReportRow openmetrics_report();  // openmetrics.cc
ReportRow nccl_json_report();    // nccl_json.cc
ReportRow gbench_json_report();  // gbench_json.cc
ReportRow iperf3_json_report();  // iperf3_json.cc
ReportRow records_report();      // records_report.cc
ReportRow html_report();         // html/page.cc

const std::vector<ReportRow>& report_table() {
  // In the order in which a run writes them: markdown links the pictures that plots has drawn.
  static const std::vector<ReportRow> kTable = {
      console_report(),     terminal_report(),    csv_report(),       plots_report(),
      links_report(),       soak_report(),        markdown_report(),  html_report(),
      junit_report(),       openmetrics_report(), nccl_json_report(), gbench_json_report(),
      iperf3_json_report(), records_report(),
  };
  return kTable;
}

const ReportRow* find_report(const std::string& name) {
  for (const ReportRow& row : report_table()) {
    if (row.descriptor.name == name) return &row;
  }
  return nullptr;
}

}  // namespace plumbline
