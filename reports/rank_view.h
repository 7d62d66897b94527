// How the ranks of a world compare: in every cell where all ranks do the same work (allreduce,
// barrier ...) each rank's own median time over that of the rank in the middle. A rank that is late
// makes the others wait for it: then its own times are the short ones. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/view.h"

namespace plumbline {

struct RankStanding {
  int rank = 0;
  std::string host;
  std::vector<double> p50_ratios, p99_ratios, mean_ratios;  // one per cell, to the middle; sorted
  size_t slowest_in = 0, fastest_in = 0;                    // cells
  int64_t cpu_ns = 0, context_switches = 0;                 // sums over all cells
  uint64_t wire_bytes = 0, retransmits = 0;
};

struct RankWorld {
  std::string title;  // "4 ranks, tcp"
  int ranks = 0;
  size_t cells = 0;                     // that were compared
  std::vector<RankStanding> standings;  // by rank
};

// Worlds of at least two ranks with something to compare, in the order of the view.
std::vector<RankWorld> rank_worlds(const View& view);

// The value at share `q` (0 to 1) of sorted values, between neighbours where it falls there; 0 when
// there are none.
// A ratio with decimals that stay the same around 1: "0.992", "1.000", "12.3".
std::string ratio_text(double ratio);
double sorted_quantile(const std::vector<double>& sorted, double q);

}  // namespace plumbline
