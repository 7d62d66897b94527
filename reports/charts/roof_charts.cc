// How much of the measured roof each operation attained at its best size, as bars.
#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "reports/charts/view_charts.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostBars = 16;

struct BestRoof {
  const Item* item = nullptr;
  std::string label;
};

std::vector<BestRoof> bests_of(const View& view) {
  std::vector<BestRoof> bests;
  for (const ViewGroup& group : view.groups) {
    BestRoof best;
    for (const Pair& pair : group.rows) {
      for (const Item* item : {pair.out, pair.in}) {
        if (item == nullptr || !item->valid() || !item->of_bandwidth) continue;
        if (!item->no_roof.empty()) continue;  // a bar of 298 % would dwarf what is true
        if (best.item == nullptr || *item->of_bandwidth > *best.item->of_bandwidth) {
          best.item = item;
        }
      }
    }
    if (best.item == nullptr) continue;
    best.label =
        fmt::format("{}{}{}, {} ranks", clean(group.op), group.algorithm == "auto" ? "" : " ",
                    group.algorithm == "auto" ? "" : clean(group.algorithm), group.ranks);
    bests.push_back(std::move(best));
  }
  std::stable_sort(bests.begin(), bests.end(), [](const BestRoof& a, const BestRoof& b) {
    return *a.item->of_bandwidth > *b.item->of_bandwidth;
  });
  return bests;
}

}  // namespace

std::vector<Chart> roof_charts(const View& view, size_t most) {
  std::vector<BestRoof> bests = bests_of(view);
  if (bests.size() < 2 || most == 0) return {};
  const size_t all = bests.size();
  bests.resize(std::min(bests.size(), kMostBars));
  Chart chart;
  chart.name = "bars_of_roof";
  chart.title = "Bus bandwidth as share of the measured roof";
  chart.subtitle = "the best size of each; roof: the same connection without the collective stack";
  const bool above = std::any_of(view.items.begin(), view.items.end(),
                                 [](const Item& item) { return !item.no_roof.empty(); });
  if (above) chart.subtitle += "; left out: results above a roof measured at a bad moment";
  if (all > bests.size()) chart.subtitle += fmt::format("; the best {} of {}", bests.size(), all);
  ChartSeries bars{"best size", ChartMark::kBar, {}, {}};
  double highest = 100;
  for (size_t i = 0; i < bests.size(); ++i) {
    const Item& item = *bests[i].item;
    ChartPoint point{100 * *item.of_bandwidth, static_cast<double>(bests.size() - i), {}, {}, {}};
    point.says =
        fmt::format("{}: {:.0f} % of the roof, {} at {}", bests[i].label, point.x,
                    format_rate(item.busbw_Bps.value_or(0)), format_bytes(item.record->cell.bytes));
    highest = std::max(highest, point.x);
    chart.y.tics.push_back({point.y, bests[i].label});
    bars.points.push_back(std::move(point));
  }
  chart.says =
      fmt::format("Highest: {}. Lowest: {}.", bars.points.front().says, bars.points.back().says);
  chart.series.push_back(std::move(bars));
  chart.x = {"share of the roof (%)", "percent", ChartAxis::Scale::kLinear, 0, highest * 1.05, {}};
  chart.x.tics = linear_tics(0, chart.x.high);
  chart.y.label = "";
  chart.y.column = "row";
  chart.y.low = 0.3;
  chart.y.high = static_cast<double>(bests.size()) + 0.7;
  return {chart};
}

}  // namespace plumbline
