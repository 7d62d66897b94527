// Tail distributions: for each time the share of operations that took at least so long, both axes
// logarithmic, so that the one operation in a thousand can be seen. The part of a curve that fewer
// than ten samples carry is dashed (core/stats/stats.h has the same rule for quantiles).
// And times in the order in which they were measured: warm-up that goes on, bursts, a clock that
// ticks, two modes side by side; of the cells whose times varied most, one of each operation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/stats/stats.h"
#include "core/units.h"
#include "reports/charts/view_charts.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr uint64_t kLeastSamples = 100;
constexpr size_t kMostCurves = 5;
constexpr double kFewSamples = 10;
// Points nearer to one another than this are not told apart.
constexpr double kTailStep = 0.94, kTimeStep = 1.02;

using Key = std::tuple<CellKind, std::string, int>;  // kind, operation, ranks

// Values in ns with how often each was seen, ascending.
std::vector<std::pair<double, uint64_t>> values_of(const Measurement& m) {
  std::map<int64_t, uint64_t> counts;
  if (m.samples_ns.size() == m.hist.n()) {
    for (const int64_t ns : m.samples_ns) ++counts[ns];
  } else {
    for (const auto& [bucket, count] : m.hist.sparse()) {
      const int64_t ns = std::clamp(Histogram::bucket_mid(bucket), m.hist.min(), m.hist.max());
      counts[ns] += count;
    }
  }
  std::vector<std::pair<double, uint64_t>> values;
  for (const auto& [ns, count] : counts) {
    if (ns > 0 && count > 0) values.emplace_back(static_cast<double>(ns), count);
  }
  return values;
}

ChartSeries curve_of(const Item& item, const std::string& label) {
  ChartSeries series{label, ChartMark::kCurve};
  const auto values = values_of(item.record->measurement);
  double n = 0;
  for (const auto& [ns, count] : values) n += static_cast<double>(count);
  double left = n;
  double last_tail = 0, last_ns = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [ns, count] = values[i];
    const double tail = left / n;
    const bool last = i + 1 == values.size();
    if (i == 0 || last || tail < last_tail * kTailStep || ns > last_ns * kTimeStep) {
      ChartPoint point{ns / 1e3, tail};
      point.says = fmt::format("{:.3g} % of {:.0f} operations took {} or longer", 100 * tail, n,
                               format_duration(ns));
      const bool few = tail * n < kFewSamples && !series.points.empty();
      (few ? series.faint : series.points).push_back(std::move(point));
      last_tail = tail;
      last_ns = ns;
    }
    left -= static_cast<double>(count);
  }
  return series;
}

// All variants at the size that most of them have; one variant: sizes from small to large.
std::vector<const Item*> chosen(const std::vector<const Item*>& items) {
  std::map<uint64_t, std::vector<const Item*>> by_size;
  for (const Item* item : items) by_size[item->record->cell.bytes].push_back(item);
  const auto most = std::max_element(
      by_size.begin(), by_size.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<const Item*> out;
  if (most->second.size() > 1) {
    out = most->second;
    if (out.size() > kMostCurves) out.resize(kMostCurves);
    return out;
  }
  const size_t take = std::min(kMostCurves, by_size.size());
  for (size_t i = 0; i < take; ++i) {
    const size_t at = take == 1 ? 0 : i * (by_size.size() - 1) / (take - 1);
    out.push_back(std::next(by_size.begin(), static_cast<std::ptrdiff_t>(at))->second.front());
  }
  return out;
}

// Percentiles instead of the shares beyond them.
std::vector<ChartTic> percentile_tics(double least) {
  static constexpr std::pair<double, const char*> kTics[] = {
      {1, "all"},      {0.5, "p50"},     {0.1, "p90"},      {0.01, "p99"},
      {1e-3, "p99.9"}, {1e-4, "p99.99"}, {1e-5, "p99.999"}, {1e-6, "p99.9999"}};
  std::vector<ChartTic> tics;
  for (const auto& [at, label] : kTics) {
    if (at >= least) tics.push_back({at, label});
  }
  return tics;
}

// "p99 is 4.2 times the median at 64 KiB" of the curve with the longest tail.
std::string tail_summary(const std::vector<const Item*>& items,
                         const std::vector<std::string>& labels) {
  double worst = 0;
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    const TimeSummary& time = items[i]->time;
    if (!time.p50 || !time.p99 || !(*time.p50 > 0) || *time.p99 / *time.p50 <= worst) continue;
    worst = *time.p99 / *time.p50;
    text = fmt::format("Longest tail: {}, p99 {} is {:.3g} times the median.", labels[i],
                       format_duration(*time.p99), worst);
  }
  return text.empty() ? "Too few operations for a p99." : text;
}

Chart tail_chart(const Key& key, const std::vector<const Item*>& candidates) {
  const auto& [key_kind, op, ranks] = key;
  const char* kind = to_string(key_kind);
  const std::vector<const Item*> items = chosen(candidates);
  const std::vector<std::string> labels = telling_labels(items);
  Chart chart;
  chart.name = fmt::format("ecdf_{}_{}_{}r", chart_file_word(kind), chart_file_word(op), ranks);
  chart.title =
      fmt::format("Tail of {}: {}, {} rank{}", kind, clean(op), ranks, ranks == 1 ? "" : "s");
  chart.subtitle =
      "share of operations that took at least that long; dashed: fewer than ten of them";
  chart.says = tail_summary(items, labels);
  double least = INFINITY, most = 0, smallest = 1;
  for (size_t i = 0; i < items.size(); ++i) {
    ChartSeries series = curve_of(*items[i], labels[i]);
    if (series.points.empty()) continue;
    for (const auto* points : {&series.points, &series.faint}) {
      for (const ChartPoint& point : *points) {
        least = std::min(least, point.x);
        most = std::max(most, point.x);
        smallest = std::min(smallest, point.y);
      }
    }
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return chart;
  if (chart.series.size() == 1) chart.subtitle = labels.front() + ": " + chart.subtitle;
  chart.x.label = "time per operation, slowest rank (us)";
  chart.x.column = "time_us";
  make_log(chart.x, least, most, 1.15);
  chart.y = {"operations that took longer, as percentile (1 - p, log)",
             "share",
             ChartAxis::Scale::kLog10,
             smallest / 1.5,
             1.3,
             percentile_tics(smallest / 1.5)};
  return chart;
}

constexpr size_t kLeastInOrder = 30;
constexpr size_t kMostDots = 400;
constexpr double kStripLogSpan = 8;

bool fits(const Item& item) {
  return item.valid() && row(item.record->cell.kind).timing == CellTiming::kEach &&
         item.record->measurement.samples_ns.size() >= kLeastInOrder && item.time.p50 &&
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
    points.push_back({.x = static_cast<double>(at + 1),
                      .y = ns / 1e3,
                      .says = fmt::format("operation {}: {}", at + 1, format_duration(ns))});
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
  ChartSeries dots{"operation", ChartMark::kDots, dots_of(samples, neighbours)};
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
  chart.x = {"operation, in time order", "operation", ChartAxis::Scale::kLinear, 0.5, last};
  chart.x.tics = linear_tics(1, last);
  chart.y = {"time, slowest rank (us)", "time_us", ChartAxis::Scale::kLinear, 0, most * 1.06};
  if (most > kStripLogSpan * least) make_log(chart.y, least, most, 1.3);
  return chart;
}

}  // namespace

std::vector<Chart> tail_charts(const View& view, size_t most) {
  std::vector<Key> order;
  std::map<Key, std::vector<const Item*>> items;
  for (const ViewGroup& group : view.groups) {
    if (row(group.kind).timing != CellTiming::kEach) continue;
    const Key key(group.kind, group.op, group.ranks);
    for (const Pair& pair : group.rows) {
      for (const Item* item : {pair.out, pair.in}) {
        if (item == nullptr || !item->valid()) continue;
        if (item->record->measurement.hist.n() < kLeastSamples) continue;
        if (!items.contains(key)) order.push_back(key);
        items[key].push_back(item);
      }
    }
  }
  std::vector<Chart> charts;
  for (const Key& key : order) {
    if (charts.size() >= most) break;
    Chart chart = tail_chart(key, items[key]);
    if (!chart.series.empty()) charts.push_back(std::move(chart));
  }
  return charts;
}

std::vector<Chart> strip_charts(const View& view, size_t most) {
  std::vector<Chart> charts;
  for (const Item* item : chosen(view, most)) charts.push_back(chart_of(*item, charts.size() + 1));
  return charts;
}

}  // namespace plumbline
