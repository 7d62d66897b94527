// Pictures as SVG and PNG, drawn by gnuplot, with data and script beside them.
#include <array>
#include <filesystem>

#include "core/host/requirement.h"
#include "reports/charts/draw.h"
#include "reports/charts/view_charts.h"
#include "reports/report.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> write_plots(const ReportInput& input,
                                               const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the plots report needs a folder to write into");
  }
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) {
    return fail(ErrorCode::kUnsupported, "no plots: " + *reason);
  }
  const View view = make_view(input.records);
  std::vector<std::string> written;
  const std::vector<Chart> charts = plot_charts(view);
  if (charts.empty()) return written;
  const fs::path folder = target.directory;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail_errno(ErrorCode::kConfig, "make the folder " + folder.string(), error.value());
  }
  for (const Chart& chart : charts) {
    const Status status =
        draw_files(folder.string(), chart.name, chart_data(chart), chart_script(chart), written);
    if (!status) return fail(status.error());
  }
  return written;
}

}  // namespace

ReportRow plots_report() {
  return {
      {"plots",
       "lines over size, tails, ranks, times in order, shares of the roof: SVG, PNG, data, script",
       {"gnuplot"},
       {},
       ""},
      "plots/",
      write_plots};
}

}  // namespace plumbline
