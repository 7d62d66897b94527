// The one table of reports, and those that write text alone: for a terminal tables and a plot of
// characters (plain ASCII, which every terminal has; a bounded number of lines), Markdown, and the
// lines of a records.jsonl. A new one is a file with such a function, a line here, and its test.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/shell_words.h"
#include "reports/charts/picture.h"
#include "reports/charts/view_charts.h"
#include "reports/content.h"
#include "reports/report.h"
#include "reports/soak/soak_verdict.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kRows = 11;  // of the plotting area
constexpr int kLabel = 9;  // columns left of it
constexpr int kWidest = 110, kLeast = 40, kOtherwise = 80;
constexpr size_t kMostPlots = 2;
constexpr std::array<char, kMaxSeries> kSeriesMarks = {'o', 'x', '+', '*', '#', '@',
                                                       '%', '&', '=', '$', '~', '^'};
constexpr char kGuide = '-', kBetween = '.';

// A canvas of characters; what is drawn later covers what was there.
class Canvas {
 public:
  Canvas(const Chart& chart, int columns) : chart_(chart) {
    frame_.width = columns - 1;
    frame_.height = kRows - 1;
    frame_.left = frame_.bottom = 0;
    frame_.right = frame_.top = 1;
    rows_.assign(kRows, std::string(static_cast<size_t>(columns), ' '));
  }

  void draw(const ChartSeries& series, char mark, char between) {
    for (size_t i = 1; i < series.points.size(); ++i) {
      if (series.points[i].apart) continue;
      const auto [x0, y0] = at(series.points[i - 1]);
      const auto [x1, y1] = at(series.points[i]);
      const int steps = static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0))));
      for (int k = 0; k <= steps; ++k) {
        const double share = steps == 0 ? 0 : static_cast<double>(k) / steps;
        put(x0 + share * (x1 - x0), y0 + share * (y1 - y0), between);
      }
    }
    for (const ChartPoint& point : series.points) {
      const auto [x, y] = at(point);
      put(x, y, mark);
    }
  }

  int row_of(double y) const { return rounded(pixel_of(chart_, frame_, {chart_.x.low, y}).second); }
  int column_of(double x) const {
    return rounded(pixel_of(chart_, frame_, {x, chart_.y.low}).first);
  }
  const std::string& row(int index) const { return rows_[static_cast<size_t>(index)]; }

 private:
  static int rounded(double value) {
    return std::isfinite(value) ? static_cast<int>(std::lround(std::clamp(value, -1.0, 1e4))) : -1;
  }
  std::pair<double, double> at(const ChartPoint& point) const {
    return pixel_of(chart_, frame_, point);
  }
  void put(double x, double y, char c) {
    const int column = rounded(x), row = rounded(y);
    if (row < 0 || row >= kRows || column < 0) return;
    std::string& line = rows_[static_cast<size_t>(row)];
    if (static_cast<size_t>(column) < line.size()) line[static_cast<size_t>(column)] = c;
  }

  const Chart& chart_;
  ChartFrame frame_;
  std::vector<std::string> rows_;
};

std::vector<ChartTic> y_tics(const Chart& chart) {
  return chart.y.tics.empty() ? linear_tics(chart.y.low, chart.y.high) : chart.y.tics;
}

void write_plot(const Chart& chart, int width, std::ostream& out) {
  const int columns = width - kLabel - 2;
  Canvas canvas(chart, columns);
  std::vector<std::string> legend;
  size_t index = 0;
  // Guides first: measured points cover them.
  for (const bool guides : {true, false}) {
    for (const ChartSeries& series : chart.series) {
      if ((series.mark == ChartMark::kGuide) != guides) continue;
      const char mark = guides ? kGuide : kSeriesMarks[index++ % kSeriesMarks.size()];
      canvas.draw(series, mark, guides ? kGuide : kBetween);
      legend.push_back(fmt::format("{} {}", mark, clean(series.label)));
    }
  }
  for (const std::string& text : {std::string(), chart.title, chart.y.label}) {
    out << cut(text, static_cast<size_t>(width)) << "\n";
  }
  std::array<std::string, kRows> labels;
  for (const ChartTic& tic : y_tics(chart)) {
    const int row = canvas.row_of(tic.at);
    if (row >= 0 && row < kRows) labels[static_cast<size_t>(row)] = tic.label;
  }
  for (int row = 0; row < kRows; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    std::string line = fit(label, kLabel, false) + (label.empty() ? " |" : " +") + canvas.row(row);
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
  out << std::string(kLabel + 1, ' ') << "+" << std::string(static_cast<size_t>(columns), '-')
      << "\n";
  std::string below(static_cast<size_t>(width), ' ');
  size_t free = kLabel;
  for (const ChartTic& tic : chart.x.tics) {
    const auto middle = static_cast<size_t>(kLabel + 2 + std::max(0, canvas.column_of(tic.at)));
    const size_t from = middle - std::min(middle, tic.label.size() / 2);
    if (from < free || from + tic.label.size() > below.size()) continue;
    below.replace(from, tic.label.size(), tic.label);
    free = from + tic.label.size() + 1;
  }
  below.erase(below.find_last_not_of(' ') + 1);
  out << below << "\n";
  for (const std::string& line : wrap(join(legend, "   "), static_cast<size_t>(width), "  "))
    out << line << "\n";
}

// The first picture of the kind that has a line to show.
const Picture* first_of(const std::vector<Picture>& pictures, CellKind kind) {
  for (const Picture& picture : pictures) {
    const bool line = std::any_of(picture.series.begin(), picture.series.end(),
                                  [](const Series& series) { return series.points.size() > 1; });
    if (line && picture.kind == kind) return &picture;
  }
  return nullptr;
}

Expected<std::vector<std::string>> write_terminal(const ReportInput& input,
                                                  const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the terminal report needs an output stream");
  const View view = make_view(input.records);
  const std::vector<Picture> pictures = plan_pictures(view);
  const int width = std::clamp(target.width > 0 ? target.width : kOtherwise, kLeast, kWidest);
  size_t drawn = 0;
  for (const CellKind kind : {CellKind::kBandwidth, CellKind::kLatency}) {
    const Picture* picture = first_of(pictures, kind);
    if (picture == nullptr || drawn++ >= kMostPlots) continue;
    write_plot(chart_of(*picture), width, *target.out);
  }
  return std::vector<std::string>{};
}

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

// Links the pictures that lie in the report's folder.
void add_pictures(const View& view, const std::string& directory, Document& document) {
  if (directory.empty()) return;
  bool first = true;
  for (const Chart& chart : plot_charts(view)) {
    const std::string path = "plots/" + chart.name + ".svg";
    std::error_code error;
    if (!std::filesystem::exists(directory + "/" + path, error)) continue;
    if (std::exchange(first, false)) document.heading(1, "Plots");
    document.picture(chart.title, path);
  }
  if (first) return;
  document.paragraph(
      "Beside each picture lie the same as PNG, its data (.dat) and its gnuplot script (.gp).");
}

void add_reproduction(const View& view, const std::string& directory, Document& document) {
  std::vector<std::string> commands;
  for (const Item& item : view.items) {
    const std::string command = shell_line(item.record->environment.command);
    if (!command.empty() && std::find(commands.begin(), commands.end(), command) == commands.end())
      commands.push_back(command);
  }
  const auto there = [&directory](const char* file) {
    std::error_code error;
    return !directory.empty() && std::filesystem::exists(directory + "/" + file, error);
  };
  const bool records = there("records.jsonl");
  if (commands.empty() && !records) return;
  document.heading(1, "How to reproduce");
  for (const std::string& command : commands) document.command(command);
  if (const Record* planned = planned_record(view)) {
    document.paragraph("Order of the cells: seed " + std::to_string(planned->seed) + ", plan " +
                       planned->plan_hash);
  }
  if (there("links/links.md"))
    document.link("Link matrices with heat maps and topology", "links/links.md");
  if (there("soak/soak.md")) document.link("The soak with its pictures", "soak/soak.md");
  if (records) document.link("All records, one JSON object a line", "records.jsonl");
}

void add_work(const View& view, Document& document) {
  Table table = work_table(view);
  if (table.rows.empty()) return;
  document.heading(1, "Work");
  document.paragraph(kWorkLegend);
  document.table(std::move(table));
}

Expected<std::vector<std::string>> write_markdown(const ReportInput& input,
                                                  const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the markdown report needs an output stream");
  const View view = make_view(input.records);
  Document document;
  document.heading(1, "plumbline report");
  add_introduction(input, view, document);
  add_checklist(input, view, document);
  add_rules(input, document);
  add_tables(view, document);
  add_work(view, document);
  add_soaks(input.soaks, document);
  add_pictures(view, target.directory, document);
  add_reproduction(view, target.directory, document);
  add_summary(input, view, document);
  render_markdown(document, *target.out);
  return std::vector<std::string>{};
}

Expected<std::vector<std::string>> write_records(const ReportInput& input,
                                                 const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the records report needs an output stream");
  RecordLines lines;
  for (const Record& record : input.records) *target.out << lines.text_of(record);
  return std::vector<std::string>{};
}

}  // namespace

ReportRow csv_report();          // csv.cc
ReportRow plots_report();        // charts/draw.cc
ReportRow links_report();        // links/link_topology.cc
ReportRow soak_report();         // soak/soak.cc
ReportRow junit_report();        // junit.cc
ReportRow openmetrics_report();  // openmetrics.cc
ReportRow nccl_json_report();    // nccl_json.cc
ReportRow gbench_json_report();  // gbench_json.cc
ReportRow iperf3_json_report();  // iperf3_json.cc
ReportRow html_report();         // html/page.cc

const std::vector<ReportRow>& report_table() {
  // In the order in which a run writes them: markdown links the pictures that plots has drawn.
  static const std::vector<ReportRow> kTable = {
      {{"console", "tables for the terminal, columns as nccl-tests has them"}, "", write_console},
      {{"terminal", "bus bandwidth and latency over size as a plot of characters"},
       "",
       write_terminal},
      csv_report(),
      plots_report(),
      links_report(),
      soak_report(),
      {{"markdown", "the same tables as a Markdown file, with plots and the command to repeat it"},
       "report.md",
       write_markdown},
      html_report(),
      junit_report(),
      openmetrics_report(),
      nccl_json_report(),
      gbench_json_report(),
      iperf3_json_report(),
      {{"records", "the records as records.jsonl, for what was imported from other tools"},
       "",
       write_records},
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
