// One picture per number of a soak: its rounds over time, the levels between the steps, and lines
// where something happened. What came from a record is quoted, so that it can smuggle in no
// command.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/charts/draw.h"
#include "reports/soak/soak_tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostLines = 40;  // at events
constexpr size_t kSoakLabel = 60;
constexpr size_t kTitleColumns = 100;

struct PlotUnit {
  double size;
  const char* label;
};

PlotUnit unit_of(const SoakTrend& trend) {
  switch (trend.track->unit) {
    case SoakUnit::kTime:
      return trend.first >= 1e6 ? PlotUnit{1e6, "median time (ms)"}
                                : PlotUnit{1e3, "median time (us)"};
    case SoakUnit::kRate:
      return {1e6, "rate (MB/s, 10^6 bytes per second)"};
    case SoakUnit::kPerSecond:
      return {1, "operations/s"};
    case SoakUnit::kShare:
      break;
  }
  return {0.01, "share of datagrams lost (%)"};
}

// Hours, or minutes and seconds where it did not last.
PlotUnit time_of(const SoakRun& run) {
  if (run.hours >= 2) return {1, "time (h)"};
  return run.hours >= 1.0 / 30 ? PlotUnit{1.0 / 60, "time (min)"}
                               : PlotUnit{1.0 / 3600, "time (s)"};
}

}  // namespace

std::string soak_plot_data(const SoakTrend& trend) {
  std::string out = fmt::format("# {}\n# index 0: hours value first_round last_round\n",
                                clean(trend.track->what));
  const std::vector<TrendPoint> points = trend.track->series.points();
  for (const TrendPoint& point : points) {
    out += fmt::format("{:.10g} {:.10g} {} {}\n", point.x, point.y, point.first_round,
                       point.last_round);
  }
  out += "\n\n# index 1: hours level (medians between the steps)\n";
  if (points.empty()) return out;
  double from = points.front().x;
  for (const SoakStep& step : trend.steps) {
    out += fmt::format("{:.10g} {:.10g}\n{:.10g} {:.10g}\n\n", from, step.before, step.hours,
                       step.before);
    from = step.hours;
  }
  if (!trend.steps.empty()) {
    const double level = trend.steps.back().after;
    out += fmt::format("{:.10g} {:.10g}\n{:.10g} {:.10g}\n", from, level, points.back().x, level);
  }
  return out;
}

std::string soak_plot_script(const SoakTrend& trend, const SoakRun& run, const std::string& name) {
  const PlotUnit unit = unit_of(trend), time = time_of(run);
  std::string out =
      fmt::format("# Run in this folder: gnuplot {}.gp\ndata = '{}.dat'\n", name, name);
  out += "set encoding utf8\n";
  out += fmt::format("set title {}.\"\\n\".{} noenhanced\n",
                     gnuplot_literal(trend.track->what, kTitleColumns),
                     gnuplot_literal(drift_text(trend), kTitleColumns));
  out += "set grid back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n";
  out += "set key outside bottom center horizontal Left reverse noenhanced\n";
  out += fmt::format("set xlabel '{}'.\"\\n \"\nset ylabel '{}'\n", time.label, unit.label);
  out += "set yrange [0:*]\n";
  std::set<const SoakEvent*> beside;
  for (const SoakStep& step : trend.steps) beside.insert(step.beside.begin(), step.beside.end());
  size_t lines = 0;
  for (const SoakEvent& event : run.events) {
    if (++lines > kMostLines && beside.count(&event) == 0) continue;
    out += fmt::format(
        "set arrow from {0:.10g}, graph 0 to {0:.10g}, graph 1 nohead dt 3 lc rgb "
        "'#999999'\n",
        static_cast<double>(event.at_ns) / 3600e9 / time.size);
  }
  // One label a step, or they would lie on top of each other.
  for (const SoakStep& step : trend.steps) {
    if (step.beside.empty()) continue;
    const SoakEvent& event = *step.beside.front();
    std::string text = event.host + " " + event.text;
    if (step.beside.size() > 1) text += fmt::format(" (+{})", step.beside.size() - 1);
    out += fmt::format(
        "set label {} at {:.10g}, graph 0.02 rotate by 90 offset 0.8,0 font ',9' "
        "noenhanced\n",
        gnuplot_literal(text, kSoakLabel), static_cast<double>(event.at_ns) / 3600e9 / time.size);
  }
  std::string plot = fmt::format(
      "plot \\\n  data index 0 using ($1/{0:.10g}):($2/{1:.10g}) with points pt 7 ps 0.8 lc rgb "
      "'#0072B2' title 'rounds'",
      time.size, unit.size);
  if (!trend.steps.empty()) {
    plot += fmt::format(
        ", \\\n  data index 1 using ($1/{0:.10g}):($2/{1:.10g}) with lines lw 2 lc "
        "rgb '#D55E00' title 'level'",
        time.size, unit.size);
  }
  plot += "\n";
  out += "set terminal svg size 860,520 font 'DejaVu Sans,13' background '#FFFFFF' noenhanced\n";
  out += fmt::format("set output '{}.svg'\n{}", name, plot);
  out += "set terminal pngcairo size 860,520 font 'DejaVu Sans,11' noenhanced\n";
  out += fmt::format("set output '{}.png'\nreplot\nunset output\n", name);
  return out;
}

}  // namespace plumbline
