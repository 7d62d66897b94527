// Measured floors and roofs as guides of a picture: only at the sizes at which they were measured,
// and joined only where nothing lies between.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/units.h"
#include "reports/charts/picture_samples.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr size_t kMostGuides = 3;  // more dashes cannot be told apart

using Path = std::pair<int, std::string>;  // ranks and transport
using Values = std::map<double, double>;   // by size

struct Guide {
  Values values;
  std::set<double> sizes;  // of the results and of the values
  std::set<Path> paths;
};

// The better one of two at the same size: floors are low, roofs are high.
void keep(double size, double value, bool low, Values& values) {
  const auto [at, fresh] = values.emplace(size, value);
  if (!fresh) at->second = low ? std::min(at->second, value) : std::max(at->second, value);
}

void add_sample(const PictureRequest& request, const PictureSample& sample, bool low,
                Guide& guide) {
  const Record& record = *sample.item->record;
  guide.sizes.insert(sample.point.x);
  if (low) {
    if (const auto ns = latency_floor_ns(*request.view, record)) {
      keep(sample.point.x, *ns, low, guide.values);
    }
    return;
  }
  for (const Item* roof : bandwidth_roofs(*request.view, record)) {
    const auto size = static_cast<double>(roof->record->cell.bytes);
    if (size <= 0) continue;
    keep(size, *roof_rate_Bps(*roof), low, guide.values);
    guide.sizes.insert(size);
  }
}

// Those of several paths that have the same values are one.
std::vector<Guide> merged(const std::map<Path, Guide>& by_path) {
  std::map<Values, Guide> by_values;
  for (const auto& [path, guide] : by_path) {
    if (guide.values.empty()) continue;
    Guide& one = by_values[guide.values];
    one.values = guide.values;
    one.sizes.insert(guide.sizes.begin(), guide.sizes.end());
    one.paths.insert(path);
  }
  std::vector<Guide> guides;
  for (auto& [values, guide] : by_values) guides.push_back(std::move(guide));
  std::sort(guides.begin(), guides.end(),
            [](const Guide& a, const Guide& b) { return a.paths < b.paths; });
  return guides;
}

Guide best_of(const std::vector<Guide>& guides, bool low) {
  Guide best;
  for (const Guide& guide : guides) {
    for (const auto& [size, value] : guide.values) keep(size, value, low, best.values);
    best.sizes.insert(guide.sizes.begin(), guide.sizes.end());
  }
  return best;
}

// ", 2 ranks, tcp": what tells this guide from the others.
std::string paths_text(const Guide& guide, const std::map<Path, Guide>& all) {
  std::set<int> every_ranks, ranks;
  std::set<std::string> every_transport, transports;
  for (const auto& [path, unused] : all) {
    every_ranks.insert(path.first);
    every_transport.insert(path.second);
  }
  for (const Path& path : guide.paths) {
    ranks.insert(path.first);
    transports.insert(path.second);
  }
  std::string text;
  if (every_ranks.size() > 1) {
    std::vector<std::string> words;
    for (const int each : ranks) words.push_back(std::to_string(each));
    text += ", " + join(words, " and ") + (ranks == std::set{1} ? " rank" : " ranks");
  }
  if (every_transport.size() > 1) {
    text += ", " + join(std::vector<std::string>(transports.begin(), transports.end()), " and ");
  }
  return text;
}

Series line_of(const std::string& label, const Guide& guide) {
  Series series{label, {}};
  const std::set<double>& sizes = guide.sizes;
  for (const auto& [size, value] : guide.values) {
    Point& point = series.points.emplace_back();
    point.x = size;
    point.y = value;
    if (series.points.size() < 2) continue;
    const double before = series.points[series.points.size() - 2].x;
    point.apart = std::next(sizes.find(before)) != sizes.find(size);
  }
  return series;
}

}  // namespace

std::vector<Series> guides_of(const PictureRequest& request,
                              const std::vector<PictureSample>& samples) {
  const bool low = request.y == YAxis::kTime;
  if (request.x != XAxis::kBytes || (!low && request.y != YAxis::kBusBandwidth)) return {};
  std::map<Path, Guide> by_path;
  for (const PictureSample& sample : samples) {
    if (sample.item->imported()) continue;  // the roofs are those of our own run
    const Record& record = *sample.item->record;
    add_sample(request, sample, low, by_path[{record.cell.ranks, transport_of(record)}]);
  }
  const std::string what = low                      ? "floor: bare socket, the same messages"
                           : is_two_way(request.op) ? "roof: bare socket, both ways at once"
                                                    : "roof: bare socket, one way";
  const std::vector<Guide> guides = merged(by_path);
  if (guides.size() > kMostGuides) {
    return {line_of(what + (low ? ", the least of all" : ", the highest of all"),
                    best_of(guides, low))};
  }
  std::vector<Series> series;
  for (const Guide& guide : guides) {
    std::string label = what;
    if (guides.size() > 1) label += clean(paths_text(guide, by_path));
    if (!low && guide.values.size() == 1) {
      label += ", at " + format_bytes(static_cast<uint64_t>(guide.values.begin()->first));
    }
    series.push_back(line_of(label, guide));
  }
  return series;
}

}  // namespace plumbline
