// The kinds of charts beside lines over size, planned from a View: tail distributions, boxes per
// rank, times in the order in which they were measured, and bars of what was attained. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reports/charts/chart.h"
#include "reports/view.h"

namespace plumbline {

// The `most` most telling charts of a kind; none where they would mean nothing.
using ChartPlan = std::vector<Chart> (*)(const View& view, size_t most);
// Every operation's tail: the share of operations that took longer, on a log axis.
std::vector<Chart> tail_charts(const View& view, size_t most);  // tail_charts.cc
// Every rank's median time over that of the rank in the middle, a box over all cells.
std::vector<Chart> rank_charts(const View& view, size_t most);  // rank_charts.cc
// Times in the order in which they were measured, of the cells that varied most.
std::vector<Chart> strip_charts(const View& view, size_t most);  // tail_charts.cc
// The best share of the measured roof that each operation attained.
std::vector<Chart> roof_charts(const View& view, size_t most);  // rank_charts.cc

// Everything that the report `plots` draws: lines over size, then a bounded number of each kind,
// under names that differ.
std::vector<Chart> plot_charts(const View& view);

// One label per item that says only what tells these items apart: "ring, 64 KiB".
std::vector<std::string> telling_labels(const std::vector<const Item*>& items);
// Of anything, for a file name: letters, digits, '-' and '_', at most 60 characters.
std::string chart_file_word(std::string_view text);

}  // namespace plumbline
