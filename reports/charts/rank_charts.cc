// Which rank is the straggler: a box per rank over all cells in which ranks do the same work. And
// how much of the measured roof each operation attained at its best size, as bars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/units.h"
#include "reports/charts/view_charts.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr size_t kMostBoxes = 32;
constexpr size_t kLeastCells = 3;
constexpr size_t kNamedRanks = 8;  // with their hosts, where there is room for names
constexpr double kLogSpan = 4;

std::string rank_text(const RankStanding& standing) {
  std::string text = fmt::format("rank {}", standing.rank);
  if (!standing.host.empty()) text += " on " + standing.host;
  return text;
}

std::string rank_summary(const std::vector<const RankStanding*>& shown) {
  const auto middle = [](const RankStanding* s) { return sorted_quantile(s->p50_ratios, 0.5); };
  const auto by_middle = [&](const RankStanding* a, const RankStanding* b) {
    return middle(a) < middle(b);
  };
  const RankStanding* slow = *std::max_element(shown.begin(), shown.end(), by_middle);
  const RankStanding* fast = *std::min_element(shown.begin(), shown.end(), by_middle);
  return fmt::format("Longest times: {}, typically {} of the middle; shortest: {}, {}.",
                     rank_text(*slow), ratio_text(middle(slow)), rank_text(*fast),
                     ratio_text(middle(fast)));
}

Chart rank_chart(const RankWorld& world, const std::string& name) {
  Chart chart;
  chart.name = name;
  chart.title = "Times of the ranks beside one another: " + world.title;
  chart.subtitle = fmt::format(
      "box: half of {} cells, whiskers 5 % to 95 %, line: median; where all ranks do the same",
      world.cells);
  std::vector<const RankStanding*> shown;
  for (const RankStanding& standing : world.standings) {
    if (shown.size() < kMostBoxes) shown.push_back(&standing);
  }
  if (shown.size() < world.standings.size()) {
    chart.subtitle += fmt::format("; the first {} ranks", shown.size());
  }
  chart.says = rank_summary(shown);
  ChartSeries boxes{"median time of the rank / of the middle rank", ChartMark::kBox};
  double least = 1, most = 1;
  std::vector<ChartTic> tics;
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::vector<double>& ratios = shown[i]->p50_ratios;
    ChartPoint point{static_cast<double>(i), sorted_quantile(ratios, 0.5)};
    point.box = {sorted_quantile(ratios, 0.05), sorted_quantile(ratios, 0.25),
                 sorted_quantile(ratios, 0.75), sorted_quantile(ratios, 0.95)};
    point.says =
        fmt::format("{}: {} times the middle, half of the cells {} to {}", rank_text(*shown[i]),
                    ratio_text(point.y), ratio_text((*point.box)[1]), ratio_text((*point.box)[2]));
    least = std::min(least, (*point.box)[0]);
    most = std::max(most, (*point.box)[3]);
    const std::string label = shown.size() <= kNamedRanks && !shown[i]->host.empty()
                                  ? fmt::format("{} {}", shown[i]->rank, shown[i]->host)
                                  : fmt::format("{}", shown[i]->rank);
    const size_t columns = shown.size() <= 4 ? 16 : 9;
    tics.push_back({point.x, cut(label, columns)});
    boxes.points.push_back(std::move(point));
  }
  const double right = static_cast<double>(shown.size()) - 0.4;
  chart.series = {std::move(boxes),
                  {"as the middle rank", ChartMark::kGuide, {{-0.6, 1}, {right, 1}}}};
  chart.x = {"rank", "rank", ChartAxis::Scale::kLinear, -0.6, right, std::move(tics)};
  chart.y = {"time / time of the middle rank", "ratio", ChartAxis::Scale::kLinear,
             std::min(0.9, least * 0.95), std::max(1.1, most * 1.05)};
  if (most > kLogSpan * least) make_log(chart.y, least, most, 1.15);
  return chart;
}

constexpr size_t kMostBars = 16;

struct BestRoof {
  const Item* item = nullptr;
  std::string label;
};

// Where one operation was measured over several transports, each bar says which it is.
void tell_transports(std::vector<BestRoof>& bests) {
  std::map<std::string, int> bars;
  for (const BestRoof& best : bests) ++bars[best.label];
  for (BestRoof& best : bests) {
    if (bars[best.label] > 1) best.label += ", " + clean(transport_of(*best.item->record));
  }
}

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
  tell_transports(bests);
  std::stable_sort(bests.begin(), bests.end(), [](const BestRoof& a, const BestRoof& b) {
    return *a.item->of_bandwidth > *b.item->of_bandwidth;
  });
  return bests;
}

}  // namespace

std::vector<Chart> rank_charts(const View& view, size_t most) {
  std::vector<Chart> charts;
  for (const RankWorld& world : rank_worlds(view)) {
    if (charts.size() >= most) break;
    if (world.cells < kLeastCells) continue;
    std::string name = fmt::format("box_ranks_{}r", world.ranks);
    const auto taken = std::count_if(charts.begin(), charts.end(), [&](const Chart& chart) {
      return chart.name.starts_with(name);
    });
    if (taken > 0) name += fmt::format("_{}", taken + 1);
    charts.push_back(rank_chart(world, name));
  }
  return charts;
}

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
  ChartSeries bars{"best size", ChartMark::kBar};
  double highest = 100;
  for (size_t i = 0; i < bests.size(); ++i) {
    const Item& item = *bests[i].item;
    ChartPoint point{100 * *item.of_bandwidth, static_cast<double>(bests.size() - i)};
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
  chart.x = {"share of the roof (%)", "percent", ChartAxis::Scale::kLinear, 0, highest * 1.05};
  chart.x.tics = linear_tics(0, chart.x.high);
  chart.y.label = "";
  chart.y.column = "row";
  chart.y.low = 0.3;
  chart.y.high = static_cast<double>(bests.size()) + 0.7;
  return {chart};
}

}  // namespace plumbline
