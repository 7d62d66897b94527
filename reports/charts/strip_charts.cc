// Times in the order in which they were measured: warm-up that goes on, bursts, a clock that ticks,
// two modes side by side. Drawn for the cells whose times varied most, one of each operation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/units.h"
#include "reports/charts/view_charts.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kLeastSamples = 30;
constexpr size_t kMostDots = 400;
constexpr double kLogSpan = 8;

bool fits(const Item& item) {
  return item.valid() && row(item.record->cell.kind).timing == CellTiming::kEach &&
         item.record->measurement.samples_ns.size() >= kLeastSamples && item.time.p50 &&
         *item.time.p50 > 0;
}

// The cells that varied most, by standard deviation over mean, each operation and world once.
std::vector<const Item*> chosen(const View& view, size_t most) {
  std::vector<const Item*> items;
  for (const Item& item : view.items) {
    if (fits(item)) items.push_back(&item);
  }
  std::stable_sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return a->time.cv.value_or(0) > b->time.cv.value_or(0);
  });
  std::set<std::tuple<CellKind, std::string, int>> seen;
  std::vector<const Item*> out;
  for (const Item* item : items) {
    const Cell& cell = item->record->cell;
    if (out.size() < most && seen.insert({cell.kind, cell.op, cell.ranks}).second) {
      out.push_back(item);
    }
  }
  return out;
}

// Every sample, or the lowest and the highest of so many neighbours that there is room.
std::vector<ChartPoint> dots_of(const std::vector<int64_t>& samples, size_t& neighbours) {
  neighbours = samples.size() <= kMostDots ? 1 : (2 * samples.size() + kMostDots - 1) / kMostDots;
  std::vector<ChartPoint> points;
  const auto add = [&](size_t at) {
    const auto ns = static_cast<double>(std::max<int64_t>(1, samples[at]));
    points.push_back({static_cast<double>(at + 1),
                      ns / 1e3,
                      {},
                      {},
                      fmt::format("operation {}: {}", at + 1, format_duration(ns))});
  };
  for (size_t from = 0; from < samples.size(); from += neighbours) {
    const size_t to = std::min(samples.size(), from + neighbours);
    size_t low = from, high = from;
    for (size_t i = from; i < to; ++i) {
      if (samples[i] < samples[low]) low = i;
      if (samples[i] > samples[high]) high = i;
    }
    add(std::min(low, high));
    if (low != high) add(std::max(low, high));
  }
  return points;
}

ChartSeries level(const std::string& label, double ns, double last) {
  const std::string says = label + ": " + format_duration(ns);
  return {label + " " + format_duration(ns),
          ChartMark::kGuide,
          {{0.5, ns / 1e3, {}, {}, says}, {last, ns / 1e3, {}, {}, says}},
          {}};
}

Chart chart_of(const Item& item, size_t number) {
  const Record& record = *item.record;
  const std::vector<int64_t>& samples = record.measurement.samples_ns;
  Chart chart;
  chart.name =
      fmt::format("strip_{}_{}_{}_{}r", number, chart_file_word(to_string(record.cell.kind)),
                  chart_file_word(record.cell.op), record.cell.ranks);
  chart.title = "Times in order: " + clean(describe(record));
  if (item.imported()) chart.title += ", imported from " + clean(record.cell.engine);
  size_t neighbours = 1;
  ChartSeries dots{"operation", ChartMark::kDots, dots_of(samples, neighbours), {}};
  chart.subtitle = fmt::format("{} operations", samples.size());
  if (samples.size() < record.measurement.hist.n()) {
    chart.subtitle =
        fmt::format("the first {} of {} operations", samples.size(), record.measurement.hist.n());
  }
  if (neighbours > 1) {
    chart.subtitle += fmt::format("; the lowest and highest of every {}", neighbours);
  }
  double least = INFINITY, most = 0;
  for (const ChartPoint& point : dots.points) {
    least = std::min(least, point.y);
    most = std::max(most, point.y);
  }
  const double last = static_cast<double>(samples.size()) + 0.5;
  chart.says = fmt::format("{} operations between {} and {}, median {}.", samples.size(),
                           format_duration(least * 1e3), format_duration(most * 1e3),
                           format_duration(*item.time.p50));
  chart.series.push_back(std::move(dots));
  chart.series.push_back(level("median", *item.time.p50, last));
  most = std::max(most, *item.time.p50 / 1e3);
  least = std::min(least, *item.time.p50 / 1e3);
  if (item.time.p99) chart.series.push_back(level("p99", *item.time.p99, last));
  chart.x = {"operation, in time order", "operation", ChartAxis::Scale::kLinear, 0.5, last, {}};
  chart.x.tics = linear_tics(1, last);
  chart.y = {"time, slowest rank (us)", "time_us", ChartAxis::Scale::kLinear, 0, most * 1.06, {}};
  if (most > kLogSpan * least) {
    chart.y.scale = ChartAxis::Scale::kLog10;
    chart.y.low = least / 1.3;
    chart.y.high = most * 1.3;
    chart.y.tics = decade_tics(chart.y.low, chart.y.high);
  }
  return chart;
}

}  // namespace

std::vector<Chart> strip_charts(const View& view, size_t most) {
  std::vector<Chart> charts;
  for (const Item* item : chosen(view, most)) charts.push_back(chart_of(*item, charts.size() + 1));
  return charts;
}

}  // namespace plumbline
