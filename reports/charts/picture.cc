#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/units.h"
#include "reports/charts/picture_samples.h"
#include "reports/charts/view_charts.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// Names what all series have in common and the title does not say, and how much to trust them.
std::string subtitle_of(const std::vector<PictureSample>& samples, YAxis y,
                        const std::string& title) {
  std::vector<std::string> parts;
  const bool data = samples.front().item->record->cell.bytes > 0;
  for (const PictureDimension d : {kTransport, kType, kRedOp, kRoot, kOther, kPlacement, kLoad}) {
    if (!data && d != kTransport && d != kOther) continue;
    const std::vector<std::string> values = values_of(samples, d);
    if (values.size() != 1 || values[0].empty()) continue;
    const std::string value = clean(values[0]);
    if (title.find(", " + value) == std::string::npos) parts.push_back(value);
  }
  const bool bands = y == YAxis::kTime || y == YAxis::kBusBandwidth;
  const bool foreign = std::any_of(samples.begin(), samples.end(), [](const PictureSample& sample) {
    return sample.item->imported();
  });
  const bool ranged = std::any_of(samples.begin(), samples.end(), [](const PictureSample& sample) {
    return sample.point.band.has_value();
  });
  if (bands && (ranged || !foreign)) {
    parts.push_back(foreign ? "band: 95 % CI of the median, where there are samples"
                            : "band: 95 % CI of the median");
  }
  const auto noisy = std::count_if(samples.begin(), samples.end(), [](const PictureSample& sample) {
    return sample.item->verdict == Verdict::kNoisy;
  });
  if (noisy) parts.push_back(fmt::format("{} of {} points noisy", noisy, samples.size()));
  return join(parts, " · ");
}

struct Names {
  std::string file, title;
  std::string note;  // why this is not all of the operation; empty = it is
};

// Of what a picture with too many series is cut along.
const char* name_of(size_t dimension) {
  constexpr std::array kNames = {"run",      "tool",      "type", "reduction", "root",
                                 "variant",  "placement", "load", "transport", "number of ranks",
                                 "algorithm"};
  static_assert(kNames.size() == kDimensions);
  return kNames[dimension];
}

// The part of the samples with one value of a dimension, under a name that says so.
Names named(const Names& names, size_t dimension, const PictureSample& sample) {
  const std::string& value = sample.dims[dimension];
  const std::string shown = value.empty() ? "none" : clean(value);
  std::string word = shown;  // "4 KiB" -> "4KiB"
  word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
  if (dimension == kRanks) word = fmt::format("{}r", sample.item->record->cell.ranks);
  return {names.file + "_" + chart_file_word(word), names.title + ", " + shown,
          fmt::format("more than {} series: a plot for each {}", kMaxSeries, name_of(dimension))};
}

void add_pictures(const PictureRequest& request, const std::vector<PictureSample>& samples,
                  const Names& names, std::vector<Picture>& pictures) {
  std::vector<Series> series = series_of(samples);
  if (series.empty()) return;
  if (series.size() > kMaxSeries) {
    for (size_t d = 0; d + 1 < kDimensions; ++d) {
      const std::vector<std::string> values = values_of(samples, d);
      if (values.size() < 2) continue;
      for (const std::string& value : values) {
        std::vector<PictureSample> part;
        std::copy_if(samples.begin(), samples.end(), std::back_inserter(part),
                     [&](const PictureSample& sample) { return sample.dims[d] == value; });
        add_pictures(request, part, named(names, d, part.front()), pictures);
      }
      return;
    }
  }
  const size_t parts = (series.size() + kMaxSeries - 1) / kMaxSeries;
  for (size_t part = 0; part < parts; ++part) {
    Picture& picture = pictures.emplace_back();
    picture.kind = request.kind;
    picture.name = names.file;
    picture.title = names.title;
    if (parts > 1) {
      picture.name += fmt::format("_{}", part + 1);
      picture.title += fmt::format(" (part {} of {})", part + 1, parts);
    }
    picture.subtitle = subtitle_of(samples, request.y, names.title);
    const std::string note =
        parts > 1 ? fmt::format("{} of {} series a plot", kMaxSeries, series.size()) : names.note;
    if (!note.empty()) picture.subtitle += (picture.subtitle.empty() ? "" : " · ") + note;
    picture.statistic = time_statistic(samples);
    picture.x = request.x;
    picture.y = request.y;
    const auto from = series.begin() + static_cast<std::ptrdiff_t>(part * kMaxSeries);
    const size_t count = std::min(kMaxSeries, series.size() - part * kMaxSeries);
    picture.series.assign(from, from + static_cast<std::ptrdiff_t>(count));
    picture.guides = guides_of(request, samples);
  }
}

// The axes of a throughput matrix: over the outstanding operations when they vary, else over size.
void set_throughput_axes(PictureRequest& request, const std::vector<const Cell*>& cells) {
  std::set<int> outstanding;
  bool data = false;
  for (const Cell* cell : cells) {
    outstanding.insert(cell->outstanding);
    data = data || cell->bytes > 0;
  }
  request.x = outstanding.size() > 1 || !data ? XAxis::kOutstanding : XAxis::kBytes;
  request.y = request.x == XAxis::kBytes ? YAxis::kDataRate : YAxis::kOperationRate;
}

PictureRequest make_request(const View& view, CellKind kind, const std::string& op,
                            const std::vector<const Cell*>& cells) {
  PictureRequest request{&view, kind, op, XAxis::kBytes, YAxis::kTime};
  const bool data =
      std::any_of(cells.begin(), cells.end(), [](const Cell* cell) { return cell->bytes > 0; });
  const Headline headline = row(kind).headline;
  if (headline == Headline::kOperationRate) {
    set_throughput_axes(request, cells);
  } else if (!data) {
    request.x = XAxis::kRanks;
  } else if (headline == Headline::kBusBandwidth) {
    request.y = YAxis::kBusBandwidth;
  }
  return request;
}

Names names_of(const PictureRequest& request, const std::vector<PictureSample>& samples) {
  const char* over = request.x == XAxis::kBytes   ? "size"
                     : request.x == XAxis::kRanks ? "number of ranks"
                                                  : "operations outstanding";
  const char* what = request.y == YAxis::kTime           ? "Latency"
                     : request.y == YAxis::kBusBandwidth ? "Bus bandwidth"
                                                         : "Throughput";
  Names names{chart_file_word(to_string(request.kind)) + "_" + chart_file_word(request.op),
              fmt::format("{} over {}: {}", what, over, clean(request.op)), ""};
  const bool one = values_of(samples, kRanks).size() == 1;
  if (request.x == XAxis::kRanks || !one) return names;
  Names of_ranks = named(names, kRanks, samples.front());
  of_ranks.note.clear();
  return of_ranks;
}

}  // namespace

std::vector<Picture> plan_pictures(const View& view) {
  using Key = std::pair<CellKind, std::string>;  // and operation
  std::vector<Picture> pictures;
  std::vector<Key> order;  // of the groups, which are sorted
  std::map<Key, std::vector<const Cell*>> cells;
  for (const ViewGroup& group : view.groups) {
    if (row(group.kind).headline == Headline::kNone) continue;
    const Key key(group.kind, group.op);
    if (!cells.contains(key)) order.push_back(key);
    for (const Pair& pair : group.rows) cells[key].push_back(&pair.any().record->cell);
  }
  for (const Key& key : order) {
    const PictureRequest request = make_request(view, key.first, key.second, cells[key]);
    const std::vector<PictureSample> samples = samples_of(request);
    if (!samples.empty()) add_pictures(request, samples, names_of(request, samples), pictures);
  }
  return pictures;
}

}  // namespace plumbline
