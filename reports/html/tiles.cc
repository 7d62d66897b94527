// The numbers that people ask for first, as tiles below the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.h"
#include "reports/html/page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

struct CheckCounts {
  std::map<CheckOutcome, size_t> by_outcome;
  size_t of(CheckOutcome outcome) const {
    const auto found = by_outcome.find(outcome);
    return found == by_outcome.end() ? 0 : found->second;
  }
};

CheckCounts counts_of(const std::vector<Check>& checks) {
  CheckCounts counts;
  for (const Check& check : checks) ++counts.by_outcome[check.outcome];
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

// The best result of a kind by a number; ours before those of other tools, whose statistic differs.
class Best {
 public:
  void offer(const Item& item, std::optional<double> value, bool low) {
    if (!value) return;
    const bool better = low ? *value < value_ : *value > value_;
    const bool ours = item_ != nullptr && item_->imported() && !item.imported();
    const bool theirs = item_ != nullptr && !item_->imported() && item.imported();
    if (item_ != nullptr && !ours && (theirs || !better)) return;
    item_ = &item;
    value_ = *value;
  }
  explicit operator bool() const { return item_ != nullptr; }
  const Item& item() const { return *item_; }
  double value() const { return value_; }
  // "Lowest latency (median)"; with the tool where it is not ours: "..., osu (mean)".
  std::string title(const std::string& what, const std::string& own, Quantity quantity) const {
    return what + (item_->imported() ? ", " + source_of(*item_, quantity) : own);
  }

 private:
  const Item* item_ = nullptr;
  double value_ = 0;
};

void measured_tiles(const View& view, HtmlWriter& html) {
  Best fastest, widest, busiest;
  for (const Item& item : view.items) {
    const std::string& kind = item.record->cell.kind;
    if (!item.valid()) continue;
    if (kind == "latency") fastest.offer(item, item.typical_ns, true);
    if (kind == "bandwidth") widest.offer(item, item.busbw_Bps, false);
    if (kind == "throughput") busiest.offer(item, item.record->measurement.ops_per_s, false);
  }
  if (fastest) {
    tile(fastest.title("Lowest latency", " (median)", Quantity::kTime),
         format_duration(fastest.value()), short_name(fastest.item()), html);
  }
  if (widest) {
    std::string detail = short_name(widest.item());
    const std::optional<double>& share = widest.item().of_bandwidth;
    if (!widest.item().no_roof.empty()) {
      detail += "; above its roof, which was measured at a bad moment";
    } else if (share) {
      detail += fmt::format("; {} % of the roof", percent_text(share));
    }
    tile(widest.title("Highest bus bandwidth", "", Quantity::kRate), format_rate(widest.value()),
         detail, html);
  }
  if (busiest) {
    tile(busiest.title("Most operations", "", Quantity::kRate),
         fmt::format("{:.0f}/s", busiest.value()), short_name(busiest.item()), html);
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
    tile("Slowest link", grid_text(LinkUnit::kRate, low),
         "fastest " + grid_text(LinkUnit::kRate, high) + "; " + rates->title, html);
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
    const CheckCounts checks = counts_of(page.input->checks);
    std::vector<std::string> rest;
    for (const CheckOutcome outcome : {CheckOutcome::kFail, CheckOutcome::kWarn,
                                       CheckOutcome::kUnknown, CheckOutcome::kSkipped}) {
      if (checks.of(outcome) > 0) {
        rest.push_back(fmt::format("{} {}", checks.of(outcome), to_string(outcome)));
      }
    }
    const size_t made = page.input->checks.size() - checks.of(CheckOutcome::kSkipped);
    tile("Checks passed", fmt::format("{} of {}", checks.of(CheckOutcome::kPass), made),
         join(rest, ", "), html);
  }
  measured_tiles(*page.view, html);
  link_tiles(page, html);
}

}  // namespace plumbline
