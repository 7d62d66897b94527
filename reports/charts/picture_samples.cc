#include "reports/charts/picture_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/units.h"
#include "reports/charts/chart.h"
#include "reports/text.h"

namespace plumbline {
namespace {

std::string ranks_text(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

std::string other_text(const Item& item, const std::set<std::string>& untold) {
  const Cell& cell = item.record->cell;
  std::vector<std::string> parts;
  // How another tool began its operations is its own affair.
  if (cell.sync != "barrier" && !item.imported()) parts.push_back("sync " + cell.sync);
  if (!cell.hosts.empty()) parts.push_back("on " + cell.hosts);
  if (!cell.distribution.empty()) parts.push_back(cell.distribution);
  for (const std::string& word : other_words(cell)) parts.push_back(word);
  for (const auto& [name, value] : cell.params) {
    if (!untold.contains(cell.engine + "\n" + name)) parts.push_back(name + "=" + value);
  }
  return join(parts, " ");
}

// The other axis of a throughput matrix, where it is not on x.
std::string load_text(const Cell& cell, XAxis x) {
  if (row(cell.kind).timing != CellTiming::kSustained || x == XAxis::kRanks) return {};
  if (x == XAxis::kOutstanding)
    return cell.op == "barrier" ? std::string() : format_bytes(cell.bytes);
  return fmt::format("{} outstanding", cell.outstanding);
}

std::optional<Point> point_of(const Item& item, const PictureRequest& request) {
  const Measurement& m = item.record->measurement;
  const Cell& cell = item.record->cell;
  Point point;
  point.x = request.x == XAxis::kBytes   ? static_cast<double>(cell.bytes)
            : request.x == XAxis::kRanks ? cell.ranks
                                         : cell.outstanding;
  const std::optional<double>& p50 = item.typical_ns;
  const auto& ci = item.time.p50_ci95;
  switch (request.y) {
    case YAxis::kTime:
      point.y = p50.value_or(0);
      point.band = ci;
      break;
    case YAxis::kBusBandwidth:
      point.y = item.busbw_Bps.value_or(0);
      if (ci && p50 && ci->first > 0 && !m.ops_per_s) {
        point.band = std::pair(point.y * *p50 / ci->second, point.y * *p50 / ci->first);
      }
      break;
    case YAxis::kDataRate:
      point.y = m.bytes_per_s.value_or(0);
      break;
    case YAxis::kOperationRate:
      point.y = m.ops_per_s.value_or(0);
      break;
  }
  // Neither zero nor infinity has a place on a log axis.
  point.noisy = item.verdict == Verdict::kNoisy;
  if (!(point.x > 0) || !(point.y > 0) || !std::isfinite(point.y)) return std::nullopt;
  if (point.band && !(point.band->first > 0)) point.band.reset();
  return point;
}

bool belongs(const Item& item, const PictureRequest& request) {
  const Cell& cell = item.record->cell;
  return cell.kind == request.kind && cell.op == request.op && item.valid();
}

bool any_imported(const std::vector<PictureSample>& samples) {
  return std::any_of(samples.begin(), samples.end(),
                     [](const PictureSample& sample) { return sample.item->imported(); });
}

// "ENGINE\nNAME" of parameters that only one tool has, always with the same value: they say
// nothing that its name does not, and would fill the legend.
std::set<std::string> untold_params(const PictureRequest& request) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;  // name, engine
  std::map<std::string, size_t> results;                                       // by engine
  std::map<std::pair<std::string, std::string>, size_t> with;
  for (const Item& item : request.view->items) {
    if (!belongs(item, request)) continue;
    const Cell& cell = item.record->cell;
    ++results[cell.engine];
    for (const auto& [name, value] : cell.params) {
      values[name][cell.engine].insert(value);
      ++with[{name, cell.engine}];
    }
  }
  std::set<std::string> untold;
  if (results.size() < 2) return untold;
  for (const auto& [name, engines] : values) {
    const std::string& engine = engines.begin()->first;
    const bool same = engines.size() == 1 && engines.begin()->second.size() == 1;
    if (same && with[{name, engine}] == results[engine]) untold.insert(engine + "\n" + name);
  }
  return untold;
}

// Repetitions share an x: the median of their medians, and a band around all their intervals,
// because runs differ more from one another than samples within one do.
Point merged(const std::vector<Point>& points) {
  std::vector<double> ys;
  Point result = points.front();
  for (const Point& point : points) {
    ys.push_back(point.y);
    result.noisy = result.noisy || point.noisy;
    if (!point.band || !result.band) {
      result.band.reset();
    } else {
      result.band = std::pair(std::min(result.band->first, point.band->first),
                              std::max(result.band->second, point.band->second));
    }
  }
  result.y = median(ys);
  return result;
}

}  // namespace

std::vector<PictureSample> samples_of(const PictureRequest& request) {
  std::vector<PictureSample> samples;
  const std::set<std::string> untold = untold_params(request);
  const Quantity quantity = request.y == YAxis::kTime ? Quantity::kTime : Quantity::kRate;
  for (const Item& item : request.view->items) {
    if (!belongs(item, request)) continue;
    const Cell& cell = item.record->cell;
    const std::optional<Point> point = point_of(item, request);
    if (!point) continue;
    PictureSample& sample = samples.emplace_back();
    sample.point = *point;
    sample.item = &item;
    sample.dims = {item.record->run_id, item.imported() ? source_of(item, quantity) : cell.engine,
                   cell.dtype, cell.redop == "none" ? "" : cell.redop,
                   cell.root < 0 ? "" : fmt::format("root {}", cell.root), other_text(item, untold),
                   cell.placement == "in" ? "in place" : "out of place", load_text(cell, request.x),
                   transport_of(*item.record),
                   request.x == XAxis::kRanks ? "" : ranks_text(cell.ranks),
                   // Another tool chose as it liked.
                   item.imported() && cell.algorithm == "auto" ? "" : cell.algorithm};
  }
  if (!any_imported(samples)) return samples;
  for (PictureSample& sample : samples) {
    if (!sample.item->imported() && sample.item->typical_ns) {
      sample.dims[kSource] = source_of(*sample.item, quantity);
    }
  }
  return samples;
}

std::vector<std::string> values_of(const std::vector<PictureSample>& samples, size_t dimension) {
  std::vector<std::string> values;
  for (const PictureSample& sample : samples) {
    const std::string& value = sample.dims[dimension];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

std::vector<Series> series_of(const std::vector<PictureSample>& samples) {
  using When = LabelColumn::When;
  // Words of a label in this order. The transport of another tool is its own name for it.
  const bool foreign = any_imported(samples);
  std::vector<std::pair<PictureDimension, LabelColumn>> order = {
      {kRanks, {When::kVaries}},
      {kAlgorithm, {foreign ? When::kVaries : When::kAlways}},
      {kLoad, {When::kVaries}},
      {kPlacement, {When::kVaries}},
      {kOther, {When::kVaries}},
      {kRoot, {When::kVaries}},
      {kRedOp, {When::kVaries}},
      {kType, {When::kVaries}},
      {kTransport, {foreign ? When::kNeeded : When::kVaries}},
      {kSource, {foreign ? When::kAlways : When::kVaries}},
      {kRun, {When::kNeeded}}};
  if (foreign) std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  std::vector<LabelColumn> columns;
  for (const auto& [dimension, column] : order) columns.push_back(column);
  std::vector<std::string> runs;
  for (const PictureSample& sample : samples) runs.push_back(sample.dims[kRun]);
  runs = short_ids(runs);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < samples.size(); ++i) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const auto& [dimension, column] : order) {
      row.push_back(dimension == kRun ? runs[i] : samples[i].dims[dimension]);
    }
  }
  const std::vector<std::string> labels = series_labels(columns, rows);
  std::map<std::pair<int, std::string>, std::map<double, std::vector<Point>>> points;
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool over_ranks = samples[i].dims[kRanks].empty();
    const int ranks = over_ranks ? 0 : samples[i].item->record->cell.ranks;
    points[{ranks, labels[i]}][samples[i].point.x].push_back(samples[i].point);
  }
  std::vector<Series> series;
  for (const auto& [key, places] : points) {
    Series& one = series.emplace_back();
    one.label = key.second;
    for (const auto& [x, same_x] : places) one.points.push_back(merged(same_x));
  }
  return series;
}

std::string time_statistic(const std::vector<PictureSample>& samples) {
  if (!any_imported(samples)) return {};
  std::set<std::string> names;
  for (const PictureSample& sample : samples) {
    names.insert(sample.item->imported() ? statistic_of(*sample.item, Quantity::kTime) : "");
  }
  const bool one = names.size() == 1 && !names.begin()->empty();
  return one ? *names.begin() : "statistic as the legend says";
}

}  // namespace plumbline
