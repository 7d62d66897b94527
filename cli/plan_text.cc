#include "cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/op.h"
#include "core/units.h"
#include "reports/document.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr CellKind kRoof = CellKind::kRoof;
constexpr size_t kLongestList = 13;  // letters

// Cells that are one row.
struct Series {
  Cell cell;  // any of them
  std::string variant;
  std::set<std::string> algorithms, types, redops, places, hosts;
  std::set<int> ranks, roots, outstanding, repeats;
  std::set<uint64_t> sizes;
  size_t cells = 0, skipped = 0;
  double seconds = 0;
};

std::string what_of(const Cell& cell) {
  if (cell.kind == kRoof) return "the bare path";
  return cell.measure.empty() ? cell.op : cell.measure;
}

// Without what a series holds several of.
std::string fixed_variant(Cell cell) {
  if (cell.kind == kRoof) return "";
  cell.root = -1;
  cell.outstanding = 1;
  cell.repeat = 0;
  cell.hosts.clear();
  return join(variant_words(cell), ", ");
}

// "f32,i32", or "7 types" where that is too long.
std::string listed(const std::set<std::string>& values, const char* noun) {
  const std::string all = fmt::format("{}", fmt::join(values, ","));
  return values.size() > 1 && all.size() > kLongestList ? fmt::format("{} {}", values.size(), noun)
                                                        : all;
}

std::string variant_of(const Series& series) {
  std::vector<std::string> words;
  if (!series.variant.empty()) words.push_back(series.variant);
  if (series.hosts.size() > 1) {
    words.push_back(fmt::format("{} host sets", series.hosts.size()));
  } else if (!series.hosts.begin()->empty()) {
    words.push_back("on " + *series.hosts.begin());
  }
  if (series.outstanding != std::set<int>{1}) {
    words.push_back(ranges_text(series.outstanding) + " " + word_of_outstanding(series.cell));
  }
  if (*series.roots.rbegin() > 0) {
    words.push_back((series.roots.size() > 1 ? "roots " : "root ") + ranges_text(series.roots));
  }
  if (series.repeats.size() > 1) words.push_back(fmt::format("{} times", series.repeats.size()));
  return join(words, ", ");
}

std::string sizes_of(const Series& series) {
  const uint64_t least = *series.sizes.begin(), most = *series.sizes.rbegin();
  if (most == 0) return "";
  const std::string first = format_bytes(least), last = format_bytes(most);
  return first == last ? last : first + ".." + last;
}

void add(Series& to, const Series& from) {
  to.algorithms.insert(from.algorithms.begin(), from.algorithms.end());
  to.hosts.insert(from.hosts.begin(), from.hosts.end());
  to.types.insert(from.types.begin(), from.types.end());
  to.redops.insert(from.redops.begin(), from.redops.end());
  to.places.insert(from.places.begin(), from.places.end());
  to.ranks.insert(from.ranks.begin(), from.ranks.end());
  to.roots.insert(from.roots.begin(), from.roots.end());
  to.outstanding.insert(from.outstanding.begin(), from.outstanding.end());
  to.repeats.insert(from.repeats.begin(), from.repeats.end());
  to.sizes.insert(from.sizes.begin(), from.sizes.end());
  to.cells += from.cells;
  to.skipped += from.skipped;
  to.seconds += from.seconds;
}

Series series_of(const PlanCell& planned) {
  const Cell& cell = planned.cell;
  Series series;
  series.cell = cell;
  series.variant = fixed_variant(cell);
  series.ranks = {cell.ranks};
  series.sizes = {cell.bytes};
  series.roots = {cell.root};
  series.outstanding = {cell.outstanding};
  series.repeats = {cell.repeat};
  series.hosts = {cell.hosts};
  series.cells = 1;
  series.skipped = planned.skip.empty() ? 0 : 1;
  series.seconds = planned.estimated_s;
  if (cell.kind == kRoof) return series;
  series.algorithms = {cell.algorithm};
  series.types = {cell.dtype};
  series.redops = {cell.redop == "none" ? "" : cell.redop};
  series.places = {cell.placement};
  return series;
}

// Sizes are rounded down to whole elements per rank, so that those of other types and numbers of
// ranks differ a little, and small ones may fall together: the largest is the same within a tenth.
std::string alike_sizes(const Series& series) {
  const auto most = static_cast<double>(*series.sizes.rbegin());
  return fmt::format("{}", std::lround(8 * std::log2(most + 1)));
}

// What must be equal for two series to be one row; `free` is the one list that may differ.
enum class Free { kAllLists, kTypes, kRedops, kPlaces, kRanks, kAlgorithms };
std::string key_of(const Series& series, Free free) {
  const Cell& cell = series.cell;
  if (cell.kind == kRoof) return to_string(kRoof);
  std::vector<std::string> parts = {to_string(cell.kind), what_of(cell), cell.transport,
                                    cell.engine, series.variant};
  parts.push_back(free == Free::kAlgorithms ? ""
                                            : fmt::format("{}", fmt::join(series.algorithms, ",")));
  parts.push_back(free == Free::kTypes ? "" : fmt::format("{}", fmt::join(series.types, ",")));
  parts.push_back(free == Free::kRedops ? "" : fmt::format("{}", fmt::join(series.redops, ",")));
  parts.push_back(free == Free::kPlaces ? "" : fmt::format("{}", fmt::join(series.places, ",")));
  parts.push_back(free == Free::kRanks ? "" : fmt::format("{}", fmt::join(series.ranks, ",")));
  if (free != Free::kAllLists) {
    parts.push_back(alike_sizes(series));
    parts.push_back(ranges_text(series.outstanding));
  }
  return join(parts, std::string_view("\0", 1));
}

std::vector<Series> merged(const std::vector<Series>& all, Free free) {
  std::map<std::string, size_t> places;
  std::vector<Series> out;
  for (const Series& series : all) {
    const auto [place, fresh] = places.emplace(key_of(series, free), out.size());
    if (fresh) {
      out.push_back(series);
    } else {
      add(out[place->second], series);
    }
  }
  return out;
}

std::vector<Series> series_of(const Plan& plan) {
  std::vector<Series> all;
  all.reserve(plan.cells.size());
  for (const PlanCell& planned : plan.cells) all.push_back(series_of(planned));
  for (const Free free : {Free::kAllLists, Free::kTypes, Free::kRedops, Free::kPlaces, Free::kRanks,
                          Free::kAlgorithms}) {
    all = merged(all, free);
  }
  const auto order = [](const Series& series) {
    const CellKind kind = series.cell.kind;
    const auto op = op_from(series.cell.op);
    return std::tuple(kind != kRoof, kind, op ? static_cast<int>(*op) : -1, what_of(series.cell),
                      series.algorithms, series.cell.transport, series.ranks, series.types,
                      series.redops, variant_of(series));
  };
  std::sort(all.begin(), all.end(),
            [&order](const Series& a, const Series& b) { return order(a) < order(b); });
  return all;
}

constexpr auto kLifted = Lift::kWhenSameOrEmpty;

Table series_table(const Plan& plan) {
  Table table;
  table.columns = {
      key_column({"", "kind", "", true, 0, false}),
      key_column({"", "operation", "", true, 0, false}),
      key_column({"", "algorithm", "", true, 4, true, kLifted}),
      key_column({"", "transport", "", true, 7, true, kLifted}),
      key_column({"", "type", "", true, 5, true, kLifted}),
      key_column({"", "redop", "", true, 8, true, kLifted}),
      key_column({"", "sizes", "", false, 0, true}),
      key_column({"", "ranks", "", true, 0, false}),
      key_column({"", "place", "", true, 6, true, kLifted}),
      key_column({"", "variant", "", true, 2, true, Lift::kWhenSame}),
      {"", "cells", "", false, 1, false},
      {"", "skipped", "", false, 1, true},
      {"", "about", "", false, 0, false},
  };
  for (const Series& series : series_of(plan)) {
    const bool roof = series.cell.kind == kRoof;
    table.rows.push_back(
        {{to_string(series.cell.kind), what_of(series.cell),
          listed(series.algorithms, "algorithms"), roof ? "" : series.cell.transport,
          listed(series.types, "types"), listed(series.redops, "redops"), sizes_of(series),
          ranges_text(series.ranks), listed(series.places, "places"),
          roof ? "" : variant_of(series), fmt::format("{}", series.cells),
          series.skipped > 0 ? fmt::format("{}", series.skipped) : "",
          series.skipped == series.cells ? "" : rough_time(series.seconds)},
         series.skipped == series.cells ? Tone::kWarn : Tone::kPlain});
  }
  return without_empty_columns(table);
}

Table cell_table(const Plan& plan) {
  Table table;
  table.columns = {
      {"", "id", "", true, 0, false},
      key_column({"", "kind", "", true, 0, false}),
      key_column({"", "operation", "", true, 0, false}),
      key_column({"", "algorithm", "", true, 4, true, kLifted}),
      key_column({"", "transport", "", true, 7, true, kLifted}),
      key_column({"", "type", "", true, 5, true}),
      key_column({"", "redop", "", true, 8, true}),
      key_column({"", "size", "", false, 0, true}),
      key_column({"", "ranks", "", false, 0, false}),
      key_column({"", "place", "", true, 6, true, kLifted}),
      key_column({"", "variant", "", true, 2, true, Lift::kWhenSame}),
      {"", "about", "", false, 9, true},
      {"", "skipped", "", true, 1, true},
  };
  for (const PlanCell& planned : plan.cells) {
    const Cell& cell = planned.cell;
    table.rows.push_back(
        {{planned.id, to_string(cell.kind), cell.measure.empty() ? cell.op : cell.measure,
          cell.algorithm, cell.transport, cell.dtype, cell.redop == "none" ? "" : cell.redop,
          cell.bytes > 0 ? format_bytes(cell.bytes) : "", fmt::format("{}", cell.ranks),
          cell.placement, join(variant_words(cell), ", "),
          planned.skip.empty() ? rough_time(planned.estimated_s) : "", planned.skip},
         planned.skip.empty() ? Tone::kPlain : Tone::kWarn});
  }
  return without_empty_columns(table);
}

std::vector<std::string> skip_reasons(const Plan& plan) {
  constexpr size_t kMost = 5;
  std::map<std::string, size_t> reasons;
  for (const PlanCell& planned : plan.cells) {
    if (!planned.skip.empty()) ++reasons[planned.skip];
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    if (lines.size() == kMost) {
      lines.push_back(fmt::format("... and {} more reasons", reasons.size() - kMost));
      break;
    }
    lines.push_back(fmt::format("{} skipped: {}", count, reason));
  }
  return lines;
}

std::string total_of(const Plan& plan) {
  size_t skipped = 0;
  double cells_s = 0;
  for (const PlanCell& planned : plan.cells) {
    if (!planned.skip.empty()) ++skipped;
    cells_s += planned.estimated_s;
  }
  std::string text = fmt::format("{} cell{}", plan.cells.size(), plan.cells.size() == 1 ? "" : "s");
  if (skipped > 0) text += fmt::format(", {} of them skipped", skipped);
  text += fmt::format(", about {}", rough_time(plan.estimated_s));
  const double start_s = plan.estimated_s - cells_s;
  if (start_s >= 1) text += fmt::format(" ({} of it to start ranks)", rough_time(start_s));
  return text + fmt::format("; seed {}, plan hash {}", plan.seed, clean(plan.hash.substr(0, 16)));
}

}  // namespace

std::string rough_time(double seconds) {
  constexpr int64_t kHour = 60, kDay = 24 * kHour;  // minutes
  if (seconds < 0.95) return "<1 s";
  if (seconds < 89.5) return fmt::format("{} s", std::lround(seconds));
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  const auto both = [](int64_t large, const char* unit, int64_t small, const char* rest) {
    return small == 0 ? fmt::format("{} {}", large, unit)
                      : fmt::format("{} {} {} {}", large, unit, small, rest);
  };
  if (minutes < kHour) return fmt::format("{} min", minutes);
  if (minutes < 2 * kDay) return both(minutes / kHour, "h", minutes % kHour, "min");
  return both(minutes / kDay, "d", minutes % kDay / kHour, "h");
}

void print_plan(const Plan& plan, const PlanLook& look, std::ostream& out) {
  Table table = look.every_cell ? cell_table(plan) : series_table(plan);
  const bool folded = table.rows.size() < plan.cells.size();
  std::vector<std::string> shared;
  for (const auto& [name, value] : lift_constants(table)) shared.push_back(name + " " + value);
  Document document;
  if (!shared.empty()) document.paragraph("All cells: " + join(shared, ", "));
  document.table(std::move(table));
  if (!look.every_cell) document.list(skip_reasons(plan));
  document.paragraph(total_of(plan) + (folded ? "; -v lists every cell" : ""));
  render_text(document, look.width, look.colour, out);
}

void print_lines(const std::vector<std::string>& texts, int width, std::ostream& out) {
  for (const std::string& text : texts) {
    for (const std::string& line : wrap(text, static_cast<size_t>(std::max(width, 0)))) {
      out << line << "\n";
    }
  }
}

}  // namespace plumbline
