// A forest plot: one line a row, with the interval of its change. What came from a record is
// quoted, so that it can smuggle in no command.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/charts/draw.h"
#include "reports/compare/compare_output.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kLabelColumns = 64;
constexpr size_t kTitleColumns = 80;
constexpr int kRowPixels = 24, kFramePixels = 150;
constexpr Change kOrder[] = {Change::kRegress, Change::kImprove, Change::kInconclusive,
                             Change::kSame};

std::vector<const CompareRow*> rows_to_draw(const Comparison& comparison) {
  std::vector<const CompareRow*> rows;
  for (const Change change : kOrder) {
    for (const CompareRow& row : comparison.rows) {
      const bool drawn = row.judged && row.shift && row.shift->ci95 && row.change == change;
      if (drawn && rows.size() < kMostCompareBars) rows.push_back(&row);
    }
  }
  return rows;
}

bool any_of(const std::vector<const CompareRow*>& rows, Change change) {
  return std::any_of(rows.begin(), rows.end(),
                     [change](const CompareRow* row) { return row->change == change; });
}

const char* colour_of(Change change) {
  switch (change) {
    case Change::kBroken:
    case Change::kRegress:
      return "#D55E00";
    case Change::kImprove:
      return "#009E73";
    case Change::kInconclusive:
      return "#7F7F7F";
    case Change::kSame:
      break;
  }
  return "#0072B2";
}

double percent(double ratio) { return 100 * (ratio - 1); }

}  // namespace

std::string compare_plot_data(const Comparison& comparison) {
  std::string out = "# one index a verdict that occurs: row change low high (percent)\n";
  const std::vector<const CompareRow*> rows = rows_to_draw(comparison);
  for (const Change change : kOrder) {
    if (!any_of(rows, change)) continue;
    out += fmt::format("# {}\n", to_string(change));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->change != change) continue;
      const auto& [low, high] = *rows[i]->shift->ci95;
      out += fmt::format("{} {:.6g} {:.6g} {:.6g}\n", i + 1, percent(rows[i]->shift->ratio),
                         percent(low), percent(high));
    }
    out += "\n\n";
  }
  return out;
}

std::string compare_plot_script(const Comparison& comparison, const std::string& name) {
  const std::vector<const CompareRow*> rows = rows_to_draw(comparison);
  std::string out =
      fmt::format("# Run in this folder: gnuplot {}.gp\ndata = '{}.dat'\n", name, name);
  out += "set encoding utf8\n";
  out += fmt::format("set title {}.\"\\n\".{} noenhanced\n",
                     gnuplot_literal("b: " + comparison.name_b, kTitleColumns),
                     gnuplot_literal("against a: " + comparison.name_a, kTitleColumns));
  out += "set grid xtics back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n";
  out += "set key outside bottom center horizontal Left reverse noenhanced\n";
  out += "set xlabel 'change of the time, 95 % confidence interval (%)'.\"\\n \"\n";
  // The line of no change is always in the picture.
  double least = -1, most = 1;
  for (const CompareRow* row : rows) {
    least = std::min(least, percent(row->shift->ci95->first));
    most = std::max(most, percent(row->shift->ci95->second));
  }
  const double margin = 0.05 * (most - least);
  out += fmt::format("set xrange [{:.6g}:{:.6g}]\n", least - margin, most + margin);
  out += fmt::format("set yrange [{}:0.3] noextend\n", static_cast<double>(rows.size()) + 0.7);
  std::vector<std::string> tics;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string part = rows[i]->part.empty() ? "" : ", " + rows[i]->part;
    tics.push_back(
        fmt::format("{} {}", gnuplot_literal(rows[i]->what + part, kLabelColumns), i + 1));
  }
  out += "set ytics noenhanced (" + join(tics, ", ") + ")\n";
  out += "set arrow from 0, graph 0 to 0, graph 1 nohead lw 1.2 lc rgb '#000000'\n";
  std::vector<std::string> parts;
  size_t index = 0;
  for (const Change change : kOrder) {
    if (!any_of(rows, change)) continue;
    parts.push_back(
        fmt::format("data index {} using 2:1:3:4 with xerrorbars pt 7 ps 0.9 lw 2 lc rgb '{}' "
                    "title '{}'",
                    index++, colour_of(change), to_string(change)));
  }
  const std::string plot = "plot \\\n  " + join(parts, ", \\\n  ") + "\n";
  const int height = kFramePixels + kRowPixels * static_cast<int>(rows.size());
  out += fmt::format(
      "set terminal svg size 1100,{} font 'DejaVu Sans,13' background '#FFFFFF' noenhanced\n",
      height);
  out += fmt::format("set output '{}.svg'\n{}", name, plot);
  out +=
      fmt::format("set terminal pngcairo size 1100,{} font 'DejaVu Sans,11' noenhanced\n", height);
  out += fmt::format("set output '{}.png'\nreplot\nunset output\n", name);
  return out;
}

}  // namespace plumbline
