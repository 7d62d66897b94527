// The numbers that people ask for first, as tiles below the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "core/diagnosis/health.h"
#include "core/record/tally.h"
#include "core/units.h"
#include "reports/best.h"
#include "reports/html/page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

void tile(const std::string& what, const std::string& figure, const std::string& detail,
          HtmlWriter& html) {
  const auto box = html.in("div");
  html.element("dt", what);
  html.element("dd", figure, {{"class", "figure"}});
  if (!detail.empty()) html.element("dd", detail, {{"class", "detail"}});
}

// "19 pass", and below it "1 warn, 23 skipped".
void tally_tile(const std::string& what, const Tally& tally, HtmlWriter& html) {
  const Tally others = tally.without(Standing::kPass);
  tile(what, fmt::format("{} pass", tally.of(Standing::kPass)),
       others.total() > 0 ? others.text() : "", html);
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
    const Headline headline = row(item.record->cell.kind).headline;
    if (headline == Headline::kTime) fastest.offer(item, item.typical_ns);
    if (headline == Headline::kBusBandwidth) widest.offer(item, item.busbw_Bps);
    if (headline == Headline::kOperationRate) {
      busiest.offer(item, item.record->measurement.ops_per_s);
    }
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
  if (counts.total() > 0) tally_tile("Cells", tally_of(counts), html);
  if (!page.input->checks.empty()) {
    tally_tile("Checks", tally_of(page.input->checks, page.input->findings), html);
  }
  measured_tiles(*page.view, html);
  link_tiles(page, html);
}

}  // namespace plumbline
