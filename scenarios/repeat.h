// The same cells again and again, each time by fresh processes and connections: how long an
// operation takes differs more from launch to launch than within one (Hunold and Carpen-Amarie,
// IEEE TPDS 2016), so a number that is to be compared needs several launches. With two sides
// (`run --interleave`) the launches take turns, in an order drawn anew for each pair, so that
// whatever else happens on the machines meanwhile meets both alike. Records go to their files as
// they come. Nothing is printed here. Tests pass fake CellRunners.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/runner.h"

namespace plumbline {

inline constexpr int kMostLaunches = 1000;

struct RepeatSide {
  std::string name;  // "" when it is the only one, else "a" or "b"
  PlanRequest run;   // `mark` and `finished_ids` are unused
  CellRunner* ranks = nullptr;
  std::function<void()> end;  // ends the ranks, so that the next launch gets fresh ones
  // What an earlier part of this run has done: records in its file (--resume); may be empty.
  std::vector<Record> earlier;
};

struct RepeatRequest {
  std::vector<RepeatSide> sides;  // one or two
  int launches = 1;               // of each side, 1 to kMostLaunches
  int64_t series = 1;             // as in LaunchMark
  uint64_t seed = 0;              // of the order within each pair
  // "launch 3/10 of b", for progress; may be empty.
  std::function<void(const std::string&)> phase;
};

struct RepeatSummary {
  RunSummary counts;  // over all launches of all sides; `records` stays empty
  int launches = 0;   // that were finished, over all sides
};

// An Error: the request is not usable. A launch that ends early (ranks that do not start, an
// interrupt) ends the run; a cell that fails does not.
Expected<RepeatSummary> run_repeated(const RepeatRequest& request);

// Which side goes first in each pair of launches.
std::vector<bool> second_side_first(int launches, uint64_t seed);

// Records of this launch (number and series).
std::vector<Record> of_launch(const std::vector<Record>& records, int64_t number, int64_t series);

}  // namespace plumbline
