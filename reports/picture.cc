#include "reports/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/units.h"
#include "reports/roofs.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// What tells series apart. Where a picture would have too many, it is cut along the first of these
// that varies; the algorithm comes last, because it is what one wants to compare.
enum Dimension {
  kRun,
  kEngine,
  kTransport,
  kType,
  kRedOp,
  kRoot,
  kOther,
  kPlacement,
  kLoad,
  kAlgorithm,
  kDimensions
};

struct Sample {
  std::array<std::string, kDimensions> dims;
  Point point;
  const Item* item = nullptr;
};

struct Request {
  const View* view = nullptr;
  std::string kind, op;
  int ranks = 0;
  XAxis x = XAxis::kBytes;
  YAxis y = YAxis::kTime;
};

std::string other_text(const Cell& cell) {
  std::vector<std::string> parts;
  if (cell.sync != "barrier") parts.push_back("sync " + cell.sync);
  if (!cell.hosts.empty()) parts.push_back("on " + cell.hosts);
  if (!cell.distribution.empty()) parts.push_back(cell.distribution);
  for (const auto& [name, value] : cell.params) parts.push_back(name + "=" + value);
  return join(parts, " ");
}

// The other axis of a throughput matrix, where it is not on x.
std::string load_text(const Cell& cell, XAxis x) {
  if (cell.kind != "throughput" || x == XAxis::kRanks) return {};
  if (x == XAxis::kOutstanding)
    return cell.op == "barrier" ? std::string() : format_bytes(cell.bytes);
  return fmt::format("{} outstanding", cell.outstanding);
}

std::optional<Point> point_of(const Item& item, const Request& request) {
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
  if (!(point.x > 0) || !(point.y > 0) || !std::isfinite(point.y)) return std::nullopt;
  if (point.band && !(point.band->first > 0)) point.band.reset();
  return point;
}

// Whose number it is; another tool's mean is not taken for a median of ours.
std::string engine_of(const Item& item) {
  std::string text = item.record->cell.engine;
  if (item.imported() && item.statistic != "p50" && !item.statistic.empty()) {
    text += " (" + item.statistic.substr(0, item.statistic.find(' ')) + ")";  // legends are narrow
  }
  return text;
}

std::vector<Sample> samples_of(const Request& request) {
  std::vector<Sample> samples;
  for (const Item& item : request.view->items) {
    const Cell& cell = item.record->cell;
    if (cell.kind != request.kind || cell.op != request.op || !item.valid()) continue;
    if (request.x != XAxis::kRanks && cell.ranks != request.ranks) continue;
    const std::optional<Point> point = point_of(item, request);
    if (!point) continue;
    Sample& sample = samples.emplace_back();
    sample.point = *point;
    sample.item = &item;
    sample.dims = {item.record->run_id,
                   engine_of(item),
                   transport_of(*item.record),
                   cell.dtype,
                   cell.redop == "none" ? "" : cell.redop,
                   cell.root < 0 ? "" : fmt::format("root {}", cell.root),
                   other_text(cell),
                   cell.placement == "in" ? "in place" : "out of place",
                   load_text(cell, request.x),
                   cell.algorithm};
  }
  return samples;
}

std::vector<std::string> values_of(const std::vector<Sample>& samples, size_t dimension) {
  std::vector<std::string> values;  // in order of appearance: sizes stay ascending
  for (const Sample& sample : samples) {
    const std::string& value = sample.dims[dimension];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

// Repetitions share an x: the median of their medians, and a band around all their intervals,
// because runs differ more from one another than samples within one do.
Point merged(const std::vector<Point>& points) {
  std::vector<double> ys;
  Point result = points.front();
  for (const Point& point : points) {
    ys.push_back(point.y);
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

std::vector<Series> series_of(const std::vector<Sample>& samples) {
  std::vector<size_t> varying;
  for (size_t d = 0; d < kDimensions; ++d) {
    if (values_of(samples, d).size() > 1) varying.push_back(d);
  }
  if (std::find(varying.begin(), varying.end(), kAlgorithm) == varying.end()) {
    varying.push_back(kAlgorithm);
  }
  std::vector<std::string> order;
  std::map<std::string, std::map<double, std::vector<Point>>> points;
  for (const Sample& sample : samples) {
    std::vector<std::string> words;
    for (auto d = varying.rbegin(); d != varying.rend(); ++d) {
      if (!sample.dims[*d].empty()) words.push_back(clean(sample.dims[*d]));
    }
    const std::string label = join(words, ", ");
    if (!points.contains(label)) order.push_back(label);
    points[label][sample.point.x].push_back(sample.point);
  }
  std::sort(order.begin(), order.end());
  std::vector<Series> series;
  for (const std::string& label : order) {
    Series& one = series.emplace_back();
    one.label = label;
    for (const auto& [x, same_x] : points[label]) one.points.push_back(merged(same_x));
  }
  return series;
}

std::string file_word(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 && (c & 0x80) == 0;
    if (plain || c == '-') {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.substr(0, 60);
}

// Names what all series have in common and the title does not say, and how much to trust them.
std::string subtitle_of(const std::vector<Sample>& samples, YAxis y, const std::string& title) {
  std::vector<std::string> parts;
  const bool data = samples.front().item->record->cell.bytes > 0;
  for (const Dimension d : {kTransport, kType, kRedOp, kRoot, kOther, kPlacement, kLoad}) {
    if (!data && d != kTransport && d != kOther) continue;
    const std::vector<std::string> values = values_of(samples, d);
    if (values.size() != 1 || values[0].empty()) continue;
    const std::string value = clean(values[0]);
    if (title.find(", " + value) == std::string::npos) parts.push_back(value);
  }
  const bool bands = y == YAxis::kTime || y == YAxis::kBusBandwidth;
  if (bands) parts.push_back("band: 95 % CI of the median");
  const auto noisy = std::count_if(samples.begin(), samples.end(), [](const Sample& sample) {
    return sample.item->verdict == Verdict::kNoisy;
  });
  if (noisy) parts.push_back(fmt::format("{} of {} points noisy", noisy, samples.size()));
  return join(parts, " · ");
}

std::vector<Series> guides_of(const Request& request, const std::vector<Sample>& samples) {
  std::vector<Series> guides;
  const auto [least, most] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const Sample& a, const Sample& b) { return a.point.x < b.point.x; });
  const Record& record = *samples.front().item->record;
  if (request.y == YAxis::kBusBandwidth) {
    const Item* roof = bandwidth_roof(*request.view, record);
    if (!roof) return guides;
    const double rate = *roof_rate_Bps(*roof);
    const char* what = is_two_way(request.op) ? "both ways at once" : "one way";
    guides.push_back({fmt::format("roof: bare socket, {}", what),
                      {{least->point.x, rate, {}}, {most->point.x, rate, {}}}});
  }
  if (request.y == YAxis::kTime && request.x == XAxis::kBytes) {
    Series floor{"floor: bare socket, half a round trip", {}};
    std::map<double, double> by_size;
    for (const Item* roof : latency_roofs(*request.view, record)) {
      const auto bytes = static_cast<double>(roof->record->cell.bytes);
      const double half = roof->time.p50.value_or(0) / 2;
      if (half > 0 && bytes >= least->point.x && bytes <= most->point.x) by_size[bytes] = half;
    }
    for (const auto& [x, y] : by_size) floor.points.push_back({x, y, {}});
    if (!floor.points.empty()) guides.push_back(floor);
  }
  return guides;
}

struct Names {
  std::string file, title;
};

void add_pictures(const Request& request, const std::vector<Sample>& samples, const Names& names,
                  std::vector<Picture>& pictures) {
  std::vector<Series> series = series_of(samples);
  if (series.empty()) return;
  if (series.size() > kMaxSeries) {
    for (size_t d = 0; d + 1 < kDimensions; ++d) {
      const std::vector<std::string> values = values_of(samples, d);
      if (values.size() < 2) continue;
      for (const std::string& value : values) {
        std::vector<Sample> part;
        std::copy_if(samples.begin(), samples.end(), std::back_inserter(part),
                     [&](const Sample& sample) { return sample.dims[d] == value; });
        const std::string shown = value.empty() ? "none" : clean(value);
        std::string word = shown;  // "4 KiB" -> "4KiB"
        word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
        add_pictures(request, part,
                     {names.file + "_" + file_word(word), names.title + ", " + shown}, pictures);
      }
      return;
    }
  }
  const size_t parts = (series.size() + kMaxSeries - 1) / kMaxSeries;
  for (size_t part = 0; part < parts; ++part) {
    Picture& picture = pictures.emplace_back();
    picture.name = names.file;
    picture.title = names.title;
    if (parts > 1) {
      picture.name += fmt::format("_{}", part + 1);
      picture.title += fmt::format(" (part {} of {})", part + 1, parts);
    }
    picture.subtitle = subtitle_of(samples, request.y, names.title);
    picture.x = request.x;
    picture.y = request.y;
    const auto from = series.begin() + static_cast<std::ptrdiff_t>(part * kMaxSeries);
    const size_t count = std::min(kMaxSeries, series.size() - part * kMaxSeries);
    picture.series.assign(from, from + static_cast<std::ptrdiff_t>(count));
    picture.guides = guides_of(request, samples);
  }
}

// The axes of a throughput matrix: over the outstanding operations when they vary, else over size.
void set_throughput_axes(Request& request, const std::vector<const Cell*>& cells) {
  std::set<int> outstanding;
  bool data = false;
  for (const Cell* cell : cells) {
    outstanding.insert(cell->outstanding);
    data = data || cell->bytes > 0;
  }
  request.x = outstanding.size() > 1 || !data ? XAxis::kOutstanding : XAxis::kBytes;
  request.y = request.x == XAxis::kBytes ? YAxis::kDataRate : YAxis::kOperationRate;
}

Request make_request(const View& view, const std::string& kind, const std::string& op, int ranks,
                     const std::vector<const Cell*>& cells) {
  Request request{&view, kind, op, ranks, XAxis::kBytes, YAxis::kTime};
  const bool data =
      std::any_of(cells.begin(), cells.end(), [](const Cell* cell) { return cell->bytes > 0; });
  if (kind == "throughput") {
    set_throughput_axes(request, cells);
  } else if (!data) {
    request.x = XAxis::kRanks;
  } else if (kind == "bandwidth") {
    request.y = YAxis::kBusBandwidth;
  }
  return request;
}

Names names_of(const Request& request) {
  const char* over = request.x == XAxis::kBytes   ? "size"
                     : request.x == XAxis::kRanks ? "number of ranks"
                                                  : "operations outstanding";
  const char* what = request.y == YAxis::kTime           ? "Latency"
                     : request.y == YAxis::kBusBandwidth ? "Bus bandwidth"
                                                         : "Throughput";
  Names names{file_word(request.kind) + "_" + file_word(request.op),
              fmt::format("{} over {}: {}", what, over, clean(request.op))};
  if (request.x != XAxis::kRanks) {
    names.file += fmt::format("_{}r", request.ranks);
    names.title += fmt::format(", {} rank{}", request.ranks, request.ranks == 1 ? "" : "s");
  }
  return names;
}

}  // namespace

std::vector<Picture> plan_pictures(const View& view) {
  std::vector<Picture> pictures;
  std::map<std::pair<std::string, std::string>, bool> over_ranks_done;
  // Groups are sorted by kind, operation, ranks; several of them share a picture.
  std::vector<std::tuple<std::string, std::string, int>> order;
  std::map<std::tuple<std::string, std::string, int>, std::vector<const Cell*>> cells;
  for (const ViewGroup& group : view.groups) {
    if (group.kind != "latency" && group.kind != "bandwidth" && group.kind != "throughput")
      continue;
    const auto key = std::tuple(group.kind, group.op, group.ranks);
    if (!cells.contains(key)) order.push_back(key);
    for (const Pair& pair : group.rows) cells[key].push_back(&pair.any().record->cell);
  }
  for (const auto& key : order) {
    const auto& [kind, op, ranks] = key;
    const Request request = make_request(view, kind, op, ranks, cells[key]);
    if (request.x == XAxis::kRanks && std::exchange(over_ranks_done[{kind, op}], true)) continue;
    add_pictures(request, samples_of(request), names_of(request), pictures);
  }
  return pictures;
}

}  // namespace plumbline
