// The kinds of charts beside lines over size, planned from a View: tail distributions, boxes per
// rank, times in the order in which they were measured, and bars of what was attained. One table;
// each kind is one file. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/view.h"

namespace plumbline {

struct ChartKindRow {
  const char* name;  // "ecdf": starts the names of the files
  const char* help;
  // The `most` most telling ones; none where they would mean nothing.
  std::vector<Chart> (*plan)(const View& view, size_t most);
};
std::span<const ChartKindRow> chart_kind_table();
const ChartKindRow* find_chart_kind(std::string_view name);  // nullptr = unknown

std::vector<Chart> tail_charts(const View& view, size_t most);   // tail_charts.cc
std::vector<Chart> rank_charts(const View& view, size_t most);   // rank_charts.cc
std::vector<Chart> strip_charts(const View& view, size_t most);  // strip_charts.cc
std::vector<Chart> roof_charts(const View& view, size_t most);   // roof_charts.cc

// Everything that the report `plots` draws: lines over size, then a bounded number of each kind,
// under names that differ.
std::vector<Chart> plot_charts(const View& view);

// One label per item that says only what tells these items apart: "ring, 64 KiB".
std::vector<std::string> telling_labels(const std::vector<const Item*>& items);
// Of anything, for a file name: letters, digits, '-' and '_', at most 60 characters.
std::string chart_file_word(std::string_view text);

}  // namespace plumbline
