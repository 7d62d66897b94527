// The numbers that people ask for first, as tiles below the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/health.h"
#include "core/units.h"
#include "reports/best.h"
#include "reports/html/page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

struct CheckCounts {
  std::map<Standing, size_t> by_standing;
  size_t of(Standing standing) const {
    const auto found = by_standing.find(standing);
    return found == by_standing.end() ? 0 : found->second;
  }
};

CheckCounts counts_of(const ReportInput& input) {
  const Standings standings(input.findings);
  CheckCounts counts;
  for (const Check& check : input.checks) ++counts.by_standing[standings.of(check)];
  return counts;
}

void tile(const std::string& what, const std::string& figure, const std::string& detail,
          HtmlWriter& html) {
  const auto box = html.in("div");
  html.element("dt", what);
  html.element("dd", figure, {{"class", "figure"}});
  if (!detail.empty()) html.element("dd", detail, {{"class", "detail"}});
}

std::string short_name(const Item& item) {
  const Cell& cell = item.record->cell;
  std::string text =
      clean(cell.op) + ", " + plural(static_cast<size_t>(std::max(0, cell.ranks)), "rank");
  if (cell.bytes > 0) text += ", " + format_bytes(cell.bytes);
  return text;
}

// "Lowest latency (median)"; with the tool where it is not ours: "..., osu (mean)".
std::string headline_of(const Best& best, const std::string& what, const std::string& own,
                        Quantity quantity) {
  return what + (best.item().imported() ? ", " + source_of(best.item(), quantity) : own);
}

void measured_tiles(const View& view, HtmlWriter& html) {
  Best fastest(Best::Wanted::kLowest), widest(Best::Wanted::kHighest),
      busiest(Best::Wanted::kHighest);
  for (const Item& item : view.items) {
    const std::string& kind = item.record->cell.kind;
    if (kind == "latency") fastest.offer(item, item.typical_ns);
    if (kind == "bandwidth") widest.offer(item, item.busbw_Bps);
    if (kind == "throughput") busiest.offer(item, item.record->measurement.ops_per_s);
  }
  if (fastest) {
    tile(headline_of(fastest, "Lowest latency", " (median)", Quantity::kTime),
         format_duration(fastest.value()), short_name(fastest.item()) + fastest.remark(), html);
  }
  if (widest) {
    std::string detail = short_name(widest.item());
    const std::optional<double>& share = widest.item().of_bandwidth;
    if (!widest.item().no_roof.empty()) {
      detail += "; above its roof, which was measured at a bad moment";
    } else if (share) {
      detail += fmt::format("; {} % of the roof", percent_text(share));
    }
    tile(headline_of(widest, "Highest bus bandwidth", "", Quantity::kRate),
         format_rate(widest.value()), detail + widest.remark(), html);
  }
  if (busiest) {
    tile(headline_of(busiest, "Most operations", "", Quantity::kRate),
         fmt::format("{:.0f}/s", busiest.value()), short_name(busiest.item()) + busiest.remark(),
         html);
  }
}

void link_tiles(const Page& page, HtmlWriter& html) {
  for (const LinkWorld& world : page.worlds) {
    const LinkGrid* rates = rate_grid(world);
    if (rates == nullptr) continue;
    std::optional<double> low, high;
    for (const auto& value : rates->values) {
      if (!value) continue;
      low = std::min(low.value_or(*value), *value);
      high = std::max(high.value_or(*value), *value);
    }
    if (!low) continue;
    const bool noisy =
        std::any_of(world.records.begin(), world.records.end(), [&](const Record* record) {
          return record->cell.measure == rates->measure && verdict_of(*record) == Verdict::kNoisy;
        });
    tile("Slowest link", grid_text(LinkUnit::kRate, low),
         "fastest " + grid_text(LinkUnit::kRate, high) + "; " + rates->title +
             (noisy ? "; noisy" : ""),
         html);
    return;
  }
}

}  // namespace

void write_tiles(const Page& page, HtmlWriter& html) {
  const Counts& counts = page.view->counts;
  const auto list = html.in("dl", {{"class", "tiles"}});
  if (counts.total() > 0) {
    tile("Cells passed", fmt::format("{} of {}", counts.passed, counts.total()),
         counts.skipped > 0 ? plural(counts.skipped, "skipped cell") : "", html);
  }
  if (!page.input->checks.empty()) {
    const CheckCounts checks = counts_of(*page.input);
    std::vector<std::string> rest;
    for (const Standing standing : {Standing::kFail, Standing::kWarn, Standing::kNote,
                                    Standing::kUnknown, Standing::kSkipped}) {
      if (checks.of(standing) > 0) {
        rest.push_back(fmt::format("{} {}", checks.of(standing), to_string(standing)));
      }
    }
    const size_t made = page.input->checks.size() - checks.of(Standing::kSkipped);
    tile("Checks passed", fmt::format("{} of {}", checks.of(Standing::kPass), made),
         join(rest, ", "), html);
  }
  measured_tiles(*page.view, html);
  link_tiles(page, html);
}

}  // namespace plumbline
