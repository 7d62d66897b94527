// Axes of charts: tics, and where a value lies on the canvas. And pictures of the View as charts:
// units, ranges and tics of their axes, and what each point says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "reports/charts/chart.h"
#include "reports/charts/picture.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kMaxTics = 6;        // labels of sizes, also in large letters on a phone
constexpr double kBarRow = 30;     // pixels of a lying bar
constexpr double kBarLeft = 0.42;  // its label's share of the width

double share_of(const ChartAxis& axis, double value) {
  if (axis.scale == ChartAxis::Scale::kLinear) return (value - axis.low) / (axis.high - axis.low);
  return std::log(value / axis.low) / std::log(axis.high / axis.low);
}

constexpr double kLinearSpan = 30;  // rates within this factor are drawn on a linear axis from 0

// How values of an axis are shown: in microseconds, in GB/s, or as they are.
struct AxisRow {
  const char* label;
  const char* column;
  double scale;
  std::string (*text)(double value);
};

const AxisRow& row_of(YAxis axis) {
  static constexpr AxisRow kRows[] = {
      {"time per operation (us)", "time_us", 1e3, format_duration},
      {"bus bandwidth (GB/s, 10^9 bytes per second)", "busbw_GB_per_s", 1e9, format_rate},
      {"data rate (GB/s, 10^9 bytes per second)", "data_GB_per_s", 1e9, format_rate},
      {"throughput (operations/s)", "operations_per_s", 1,
       [](double value) { return fmt::format("{:.4g} ops/s", value); }}};
  return kRows[static_cast<size_t>(axis)];
}

std::string bytes_text(double bytes) {
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  return bytes < kBeyond ? format_bytes(static_cast<uint64_t>(bytes))
                         : fmt::format("{:g} B", bytes);
}

std::string number_text(double value) { return fmt::format("{:g}", value); }

std::string place_text(XAxis axis, double x) {
  if (axis == XAxis::kBytes) return bytes_text(x);
  return fmt::format("{:g} {}", x, axis == XAxis::kRanks ? "ranks" : "outstanding");
}

ChartPoint chart_point(const Picture& picture, const Point& point) {
  const AxisRow& y = row_of(picture.y);
  ChartPoint out;
  out.x = point.x;
  out.y = point.y / y.scale;
  out.hollow = point.noisy;
  out.apart = point.apart;
  out.says = place_text(picture.x, point.x) + ": " + y.text(point.y);
  if (point.band) {
    out.range = std::pair(point.band->first / y.scale, point.band->second / y.scale);
    out.says +=
        fmt::format(" (95 % CI {} to {})", y.text(point.band->first), y.text(point.band->second));
  }
  if (point.noisy) out.says += ", noisy";
  return out;
}

struct Extent {
  double least = INFINITY, most = -INFINITY;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

ChartAxis x_axis(const Picture& picture, const Extent& extent) {
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"size (bytes)", "size_bytes"},
      {"ranks", "ranks"},
      {"operations outstanding at once", "outstanding"}};
  const auto& [label, column] = kWords[static_cast<size_t>(picture.x)];
  ChartAxis axis{label, column, ChartAxis::Scale::kLinear, 0, 1};
  if (picture.x == XAxis::kRanks) {
    axis.low = extent.least - 0.5;
    axis.high = extent.most + 0.5;
    constexpr double kMostTics = 32;
    if (extent.most - extent.least > kMostTics) return axis;
    for (double rank = extent.least; rank <= extent.most; ++rank) {
      axis.tics.push_back({rank, number_text(rank)});
    }
    return axis;
  }
  const double margin = extent.most > extent.least ? 1.25 : 4;
  axis.scale = ChartAxis::Scale::kLog2;
  axis.low = extent.least / margin;
  axis.high = extent.most * margin;
  axis.tics =
      power_tics(extent.least, extent.most, picture.x == XAxis::kBytes ? bytes_text : number_text);
  return axis;
}

ChartAxis y_axis(const Picture& picture, const Extent& extent) {
  const AxisRow& words = row_of(picture.y);
  const std::string statistic =
      picture.statistic.empty() ? "median of the slowest rank" : picture.statistic;
  std::string label = words.label;
  if (picture.y == YAxis::kTime) label = "time per operation, " + statistic + " (us)";
  ChartAxis axis{label, words.column, ChartAxis::Scale::kLinear, 0, extent.most * 1.08};
  const bool log = picture.y == YAxis::kTime || extent.most > kLinearSpan * extent.least;
  if (log) make_log(axis, extent.least, extent.most, 1.4);
  return axis;
}

// Where there is only one size, what was measured at it goes from edge to edge: there is nothing
// else to join by a line.
void widen(ChartSeries& guide, const ChartAxis& x) {
  if (guide.points.empty()) return;
  ChartPoint from = guide.points.front(), to = guide.points.back();
  from.x = x.low;
  to.x = x.high;
  guide.points = {from, to};
}

// Which series ends best, for those who cannot see the lines.
std::string summary_of(const Picture& picture) {
  const bool time = picture.y == YAxis::kTime;
  const AxisRow& y = row_of(picture.y);
  const Series* best = nullptr;
  const Point* where = nullptr;
  for (const Series& series : picture.series) {
    for (const Point& point : series.points) {
      const bool better = where == nullptr || (time ? point.y < where->y : point.y > where->y);
      if (better) best = &series, where = &point;
    }
  }
  if (where == nullptr) return {};
  return fmt::format("{} series. {}: {} at {}, {}.", picture.series.size(),
                     time ? "Lowest" : "Highest", y.text(where->y), place_text(picture.x, where->x),
                     best->label);
}

}  // namespace

std::vector<ChartTic> power_tics(double low, double high, std::string (*label)(double)) {
  const int first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
  if (first > last) return {{low, label(low)}};
  const int step = std::max(1, (last - first + kMaxTics) / kMaxTics);
  std::vector<ChartTic> tics;
  for (int power = first; power <= last; power += step) {
    tics.push_back({std::exp2(power), label(std::exp2(power))});
  }
  return tics;
}

std::vector<ChartTic> decade_tics(double low, double high) {
  const double span = high / low;
  const std::vector<double> mantissas = span < 12    ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 7}
                                        : span < 200 ? std::vector<double>{1, 2, 5}
                                                     : std::vector<double>{1};
  std::vector<ChartTic> tics;
  for (int decade = static_cast<int>(std::floor(std::log10(low)));
       decade <= static_cast<int>(std::ceil(std::log10(high))); ++decade) {
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10, decade);
      if (value < low || value > high) continue;
      tics.push_back({value, fmt::format("{:.10g}", value)});
    }
  }
  return tics;
}

void make_log(ChartAxis& axis, double least, double most, double margin) {
  axis.scale = ChartAxis::Scale::kLog10;
  axis.low = least / margin;
  axis.high = most * margin;
  axis.tics = decade_tics(axis.low, axis.high);
}

std::vector<ChartTic> linear_tics(double low, double high) {
  constexpr double kWanted = 6;
  const double raw = (high - low) / kWanted;
  if (!(raw > 0) || !std::isfinite(raw)) return {};
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  const double share = raw / decade;
  const double step = decade * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
  std::vector<ChartTic> tics;
  for (double at = std::ceil(low / step) * step; at <= high * (1 + 1e-12); at += step) {
    tics.push_back({at, fmt::format("{:.6g}", at)});
  }
  return tics;
}

ChartFrame inline_frame(const Chart& chart) {
  ChartFrame frame;
  if (chart.series.empty() || chart.series.front().mark != ChartMark::kBar) return frame;
  const double rows = (chart.y.high - chart.y.low) * kBarRow;
  constexpr double kBelow = 34, kAbove = 12;
  frame.height = static_cast<int>(rows + kBelow + kAbove);
  frame.left = kBarLeft;
  frame.bottom = kBelow / frame.height;
  frame.top = 1 - kAbove / frame.height;
  return frame;
}

std::pair<double, double> pixel_of(const Chart& chart, const ChartFrame& frame,
                                   const ChartPoint& point) {
  const double x = frame.left + (frame.right - frame.left) * share_of(chart.x, point.x);
  const double y = frame.bottom + (frame.top - frame.bottom) * share_of(chart.y, point.y);
  return {x * frame.width, (1 - y) * frame.height};
}

Chart chart_of(const Picture& picture) {
  Chart chart{picture.name, picture.title, picture.subtitle, summary_of(picture), {}, {}, {}};
  Extent x, y;
  const auto add = [&](const Series& series, ChartMark mark) {
    ChartSeries& one = chart.series.emplace_back();
    one.label = series.label;
    one.mark = mark;
    for (const Point& point : series.points) {
      one.points.push_back(chart_point(picture, point));
      const ChartPoint& added = one.points.back();
      x.add(added.x);
      y.add(added.y);
      if (!added.range) continue;
      y.add(added.range->first);
      y.add(added.range->second);
    }
  };
  for (const Series& series : picture.series) add(series, ChartMark::kLine);
  for (const Series& guide : picture.guides) add(guide, ChartMark::kGuide);
  chart.x = x_axis(picture, x);
  chart.y = y_axis(picture, y);
  chart.always_legend = !picture.statistic.empty();
  for (ChartSeries& series : chart.series) {
    if (series.mark == ChartMark::kGuide && x.least == x.most) widen(series, chart.x);
  }
  return chart;
}

}  // namespace plumbline
