// A plan: the scenario's matrix expanded to cells, filtered, shuffled with a recorded seed, with
// what each cell needs to be measured. The plan hash covers everything that decides what is
// measured (cells, stop rules, options), not the order; all ranks compare it, and --resume accepts
// only records that carry it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"

namespace plumbline {

// How a cell's operations are counted where numbers say it, in place of a stop rule (coll's
// letters).
struct FixedCount {
  int iterations = 20, warmup = 1;
  int aggregate = 1;            // operations per sample
  bool tail = false;            // more samples where these take no time (MeasureSettings::tail)
  bool verified = true;         // else no result is compared
  int64_t timeout_ms = 30'000;  // of each operation
};

struct PlanCell {
  Cell cell;
  std::string id;  // cell_id(cell)
  StopRule stop;
  int64_t throughput_time_ns = 0;
  std::string skip;        // why it will be skipped, empty = it will run
  double estimated_s = 0;  // rough duration
  // > 0: measured after idle time; so many first operations are timed on their own (soak).
  int cold_operations = 0;
  std::optional<FixedCount> fixed = {};  // in place of `stop`
};

struct Plan {
  // Cells of one world size and transport stay together, so that ranks start once; within such a
  // group the roofs come first, then the other cells in shuffled order.
  std::vector<PlanCell> cells;
  uint64_t seed = 0;
  std::string hash;  // hex SHA-256
  double estimated_s = 0;
  size_t crowded = 0;  // cells that their block's `oversubscribe: false` left out
  // The cells are a request's own (RunRequest::cells): measured in their order, however often one
  // stands there; there is no hash.
  bool listed = false;
};

struct PlanFilter {
  // Each is "key=value" (a field of Cell; "a,b" = either; also != and, for numbers, >= <= > <) or a
  // bare word that is an op, kind, algorithm, dtype or transport. Several --only must all hold, any
  // --skip that holds drops the cell. Roofs are kept by --only, as the scale of what it keeps.
  std::vector<std::string> only, skip;
};

// What else decides a plan.
struct PlanContext {
  Vocabulary vocabulary;               // as the scenario was parsed with; "all" algorithms need it
  const OptionSet* options = nullptr;  // resolved; nullptr = defaults and the scenario's config
  int cores =
      0;  // that this machine may use, for `oversubscribe`; 0 = unknown, nothing is left out
};

// Ids of the cells for which all these terms hold (as PlanFilter::only), roofs left out; no terms =
// none.
std::set<std::string> matching_cells(const Plan& plan, const std::vector<std::string>& terms);

Expected<Plan> make_plan(const Scenario& scenario, const PlanFilter& filter, uint64_t seed,
                         const PlanContext& context = {});

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound > 0: values that would favour small results are thrown away.
  uint64_t below(uint64_t bound) {
    const uint64_t reject_below = (0 - bound) % bound;  // 2^64 mod bound
    uint64_t value = next();
    while (value < reject_below) value = next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

template <typename T>
void shuffle(std::vector<T>& values, SplitMix64& random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.below(i)]);
  }
}

}  // namespace plumbline
