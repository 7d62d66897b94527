// Tail distributions: for each time the share of operations that took at least so long, both axes
// logarithmic, so that the one operation in a thousand can be seen. The part of a curve that fewer
// than ten samples carry is dashed (core/stats/stats.h has the same rule for quantiles).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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
  ChartSeries series{label, ChartMark::kCurve, {}, {}};
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
      ChartPoint point{ns / 1e3, tail, {}, {}, {}};
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
  chart.x = {"time per operation, slowest rank (us)",
             "time_us",
             ChartAxis::Scale::kLog10,
             least / 1.15,
             most * 1.15,
             {}};
  chart.x.tics = decade_tics(chart.x.low, chart.x.high);
  chart.y = {"operations that took longer, as percentile (1 - p, log)",
             "share",
             ChartAxis::Scale::kLog10,
             smallest / 1.5,
             1.3,
             percentile_tics(smallest / 1.5)};
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

}  // namespace plumbline
