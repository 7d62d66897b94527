#include "reports/view_charts.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "core/units.h"
#include "reports/picture.h"
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

// What may tell items apart, the most wanted first.
std::vector<std::string> parts_of(const Item& item) {
  const Cell& cell = item.record->cell;
  std::vector<std::string> parts = {cell.op,
                                    cell.algorithm,
                                    transport_of(*item.record),
                                    cell.engine,
                                    cell.dtype,
                                    cell.redop,
                                    cell.root < 0 ? "" : fmt::format("root {}", cell.root),
                                    cell.placement == "in" ? "in place" : "out of place",
                                    "sync " + cell.sync,
                                    cell.hosts,
                                    cell.distribution,
                                    fmt::format("{} outstanding", cell.outstanding),
                                    fmt::format("repetition {}", cell.repeat),
                                    item.record->run_id};
  std::string params;
  for (const auto& [name, value] : cell.params) params += name + "=" + value + " ";
  parts.push_back(params);
  parts.push_back(format_bytes(cell.bytes));
  return parts;
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
  std::set<std::string> names;
  for (Chart& chart : charts) {
    const std::string name = chart.name;
    for (size_t i = 2; !names.insert(chart.name).second; ++i) {
      chart.name = fmt::format("{}_{}", name, i);
    }
  }
  return charts;
}

std::vector<std::string> telling_labels(const std::vector<const Item*>& items) {
  std::vector<std::vector<std::string>> all;
  all.reserve(items.size());
  for (const Item* item : items) all.push_back(parts_of(*item));
  std::vector<std::string> labels(items.size());
  if (items.empty()) return labels;
  for (size_t part = 0; part < all.front().size(); ++part) {
    std::set<std::string> values;
    for (const std::vector<std::string>& parts : all) values.insert(parts[part]);
    const bool size = part + 1 == all.front().size();
    if (values.size() < 2 && !size) continue;
    for (size_t i = 0; i < items.size(); ++i) {
      if (all[i][part].empty()) continue;
      if (!labels[i].empty()) labels[i] += ", ";
      labels[i] += clean(all[i][part]);
    }
  }
  return labels;
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
