// Pictures of the View as charts: units, ranges and tics of their axes, and what each point says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "reports/charts/picture.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr double kLinearSpan = 30;  // rates within this factor are drawn on a linear axis from 0

// ns -> us, bytes/s -> GB/s, operations/s as they are.
double shown(YAxis axis, double value) {
  switch (axis) {
    case YAxis::kTime:
      return value / 1e3;
    case YAxis::kBusBandwidth:
    case YAxis::kDataRate:
      return value / 1e9;
    case YAxis::kOperationRate:
      break;
  }
  return value;
}

struct AxisWords {
  const char* label;
  const char* column;
};

AxisWords words_of(YAxis axis) {
  switch (axis) {
    case YAxis::kTime:
      return {"time per operation (us)", "time_us"};
    case YAxis::kBusBandwidth:
      return {"bus bandwidth (GB/s, 10^9 bytes per second)", "busbw_GB_per_s"};
    case YAxis::kDataRate:
      return {"data rate (GB/s, 10^9 bytes per second)", "data_GB_per_s"};
    case YAxis::kOperationRate:
      break;
  }
  return {"throughput (operations/s)", "operations_per_s"};
}

AxisWords words_of(XAxis axis) {
  switch (axis) {
    case XAxis::kBytes:
      return {"size (bytes)", "size_bytes"};
    case XAxis::kRanks:
      return {"ranks", "ranks"};
    case XAxis::kOutstanding:
      break;
  }
  return {"operations outstanding at once", "outstanding"};
}

std::string value_text(YAxis axis, double value) {
  switch (axis) {
    case YAxis::kTime:
      return format_duration(value);
    case YAxis::kBusBandwidth:
    case YAxis::kDataRate:
      return format_rate(value);
    case YAxis::kOperationRate:
      break;
  }
  return fmt::format("{:.4g} ops/s", value);
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
  ChartPoint out;
  out.x = point.x;
  out.y = shown(picture.y, point.y);
  out.hollow = point.noisy;
  out.apart = point.apart;
  out.says = place_text(picture.x, point.x) + ": " + value_text(picture.y, point.y);
  if (point.band) {
    out.range =
        std::pair(shown(picture.y, point.band->first), shown(picture.y, point.band->second));
    out.says += fmt::format(" (95 % CI {} to {})", value_text(picture.y, point.band->first),
                            value_text(picture.y, point.band->second));
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
  const AxisWords words = words_of(picture.x);
  ChartAxis axis{words.label, words.column, ChartAxis::Scale::kLinear, 0, 1, {}};
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
  const AxisWords words = words_of(picture.y);
  const std::string statistic =
      picture.statistic.empty() ? "median of the slowest rank" : picture.statistic;
  std::string label = words.label;
  if (picture.y == YAxis::kTime) label = "time per operation, " + statistic + " (us)";
  ChartAxis axis{label, words.column, ChartAxis::Scale::kLinear, 0, extent.most * 1.08, {}};
  const bool log = picture.y == YAxis::kTime || extent.most > kLinearSpan * extent.least;
  if (!log) return axis;
  axis.scale = ChartAxis::Scale::kLog10;
  axis.low = extent.least / 1.4;
  axis.high = extent.most * 1.4;
  axis.tics = decade_tics(axis.low, axis.high);
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
                     time ? "Lowest" : "Highest", value_text(picture.y, where->y),
                     place_text(picture.x, where->x), best->label);
}

}  // namespace

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

std::string data_text(const Picture& picture) { return chart_data(chart_of(picture)); }
std::string script_text(const Picture& picture) { return chart_script(chart_of(picture)); }

}  // namespace plumbline
