// Which rank is the straggler: a box per rank over all cells in which ranks do the same work.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/charts/view_charts.h"
#include "reports/rank_view.h"
#include "reports/text.h"

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
  ChartSeries boxes{"median time of the rank / of the middle rank", ChartMark::kBox, {}, {}};
  double least = 1, most = 1;
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::vector<double>& ratios = shown[i]->p50_ratios;
    ChartPoint point{static_cast<double>(i), sorted_quantile(ratios, 0.5), {}, {}, {}};
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
    chart.x.tics.push_back({point.x, fit(label, std::min(columns, display_width(label)), true)});
    boxes.points.push_back(std::move(point));
  }
  const double right = static_cast<double>(shown.size()) - 0.4;
  chart.series = {std::move(boxes),
                  {"as the middle rank",
                   ChartMark::kGuide,
                   {{-0.6, 1, {}, {}, {}}, {right, 1, {}, {}, {}}},
                   {}}};
  chart.x.label = "rank";
  chart.x.column = "rank";
  chart.x.low = -0.6;
  chart.x.high = right;
  chart.y = {"time / time of the middle rank", "ratio",
             ChartAxis::Scale::kLinear,        std::min(0.9, least * 0.95),
             std::max(1.1, most * 1.05),       {}};
  if (most > kLogSpan * least) {
    chart.y.scale = ChartAxis::Scale::kLog10;
    chart.y.low = least / 1.15;
    chart.y.high = most * 1.15;
    chart.y.tics = decade_tics(chart.y.low, chart.y.high);
  }
  return chart;
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

}  // namespace plumbline
