// Axes of charts: tics, and where a value lies on the canvas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/charts/chart.h"

namespace plumbline {
namespace {

constexpr int kMaxTics = 6;        // labels of sizes, also in large letters on a phone
constexpr double kBarRow = 30;     // pixels of a lying bar
constexpr double kBarLeft = 0.42;  // its label's share of the width

double share_of(const ChartAxis& axis, double value) {
  if (axis.scale == ChartAxis::Scale::kLinear) return (value - axis.low) / (axis.high - axis.low);
  return std::log(value / axis.low) / std::log(axis.high / axis.low);
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

}  // namespace plumbline
