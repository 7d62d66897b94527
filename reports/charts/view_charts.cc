#include "reports/charts/view_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/file_word.h"
#include "core/units.h"
#include "reports/charts/picture.h"
#include "reports/charts/series_labels.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr ChartKindRow kKinds[] = {
    {"ecdf", "tail distribution: the share of operations that took longer, on a log axis",
     tail_charts},
    {"box", "every rank's median time over that of the rank in the middle, a box over all cells",
     rank_charts},
    {"strip", "times in the order in which they were measured, of the cells that varied most",
     strip_charts},
    {"bars", "the best share of the measured roof that each operation attained", roof_charts},
};

struct Part {
  std::string text;
  LabelColumn column;
};

// What may tell items apart, the most wanted first; the size is always said, and so is a tool.
std::vector<Part> parts_of(const Item& item, const std::string& run, bool foreign) {
  using When = LabelColumn::When;
  const Cell& cell = item.record->cell;
  const LabelColumn varies{When::kVaries};
  std::string params;
  for (const auto& [name, value] : cell.params) {
    params += (params.empty() ? "" : " ") + name + "=" + value;
  }
  const bool own_choice = item.imported() && cell.algorithm == "auto";
  return {{cell.op, varies},
          {own_choice ? "" : cell.algorithm, varies},
          {cell.engine, {foreign ? When::kAlways : When::kVaries}},
          {transport_of(*item.record), {foreign ? When::kNeeded : When::kVaries}},
          {cell.dtype, varies},
          {cell.redop, varies},
          {cell.root < 0 ? "" : fmt::format("root {}", cell.root), varies},
          {cell.placement == "in" ? "in place" : "out of place", varies},
          {"sync " + cell.sync, {foreign ? When::kNeeded : When::kVaries}},
          {cell.hosts, varies},
          {cell.distribution, varies},
          {fmt::format("{} outstanding", cell.outstanding), varies},
          {fmt::format("repetition {}", cell.repeat), varies},
          {params, varies},
          {format_bytes(cell.bytes), {When::kAlways}},
          {run, {When::kNeeded}}};
}

}  // namespace

std::span<const ChartKindRow> chart_kind_table() { return kKinds; }

const ChartKindRow* find_chart_kind(std::string_view name) {
  for (const ChartKindRow& row : kKinds) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<Chart> plot_charts(const View& view) {
  constexpr size_t kMostOfAKind = 8;
  std::vector<Chart> charts;
  for (const Picture& picture : plan_pictures(view)) charts.push_back(chart_of(picture));
  for (const ChartKindRow& row : kKinds) {
    for (Chart& chart : row.plan(view, kMostOfAKind)) charts.push_back(std::move(chart));
  }
  FileNames names;
  for (Chart& chart : charts) chart.name = names.take(chart.name);
  return charts;
}

std::vector<std::string> telling_labels(const std::vector<const Item*>& items) {
  const bool foreign =
      std::any_of(items.begin(), items.end(), [](const Item* item) { return item->imported(); });
  std::vector<std::string> runs;
  for (const Item* item : items) runs.push_back(item->record->run_id);
  runs = short_ids(runs);
  std::vector<LabelColumn> columns;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<std::string>& row = rows.emplace_back();
    for (Part& part : parts_of(*items[i], runs[i], foreign)) {
      if (i == 0) columns.push_back(part.column);
      row.push_back(std::move(part.text));
    }
  }
  return series_labels(columns, rows);
}

std::string chart_file_word(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || c == '-') {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.substr(0, kLongest);
}

}  // namespace plumbline
