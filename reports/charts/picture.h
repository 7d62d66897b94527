// A picture as data: axes, series with confidence bands, guide lines for measured roofs. Planned
// from a View; drawn as a chart (chart.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/view.h"

namespace plumbline {

enum class XAxis { kBytes, kRanks, kOutstanding };
enum class YAxis { kTime, kBusBandwidth, kDataRate, kOperationRate };

struct Point {
  double x = 0;                                   // bytes, ranks, or operations
  double y = 0;                                   // ns, bytes per second, or operations per second
  std::optional<std::pair<double, double>> band;  // 95 % confidence interval of y
  bool noisy = false;
  bool apart = false;  // of a guide: something was measured between it and the point before
};

struct Series {
  std::string label;
  std::vector<Point> points;  // ascending x; at least one
};

struct Picture {
  CellKind kind = CellKind::kLatency;
  std::string name;  // file name without ending: "latency_allreduce_4r"
  std::string title;
  std::string subtitle;
  XAxis x = XAxis::kBytes;
  YAxis y = YAxis::kTime;
  // Where other tools' results are among them: what a time is ("mean over ranks"), or where that is
  // said. Empty = all are ours.
  std::string statistic;
  std::vector<Series> series;  // 1 to kMaxSeries
  std::vector<Series> guides;  // dashed: roofs, at the sizes at which they were measured
};

inline constexpr size_t kMaxSeries = 12;  // more cannot be told apart

// One picture per kind of matrix and operation: ranks, algorithms and transports are its series
// (of operations without data ranks are the x axis). Where there are too many series it is cut into
// several, and each says so. Only valid measurements are drawn.
std::vector<Picture> plan_pictures(const View& view);

// Points in the units of the axes, ranges, tics, and what each point says.
Chart chart_of(const Picture& picture);
}  // namespace plumbline
