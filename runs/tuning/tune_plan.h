// What `plumbline tune` measures and what it concludes: first operations that tell the model's
// rates apart; then, of all algorithms that could do an operation, only those that the model cannot
// tell from the best one, size by size, and what `auto` takes today; then sizes in between that
// nothing was decided by. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/fit_model.h"
#include "collectives/topology.h"
#include "runs/tuning/tuning_file.h"

namespace plumbline {

struct TuneSpec {
  int ranks = 2;
  std::vector<Op> ops;  // empty = tunable_ops()
  uint64_t min_bytes = 8, max_bytes = 8 << 20;
  int64_t max_time_ns = 60'000'000'000;
  uint64_t seed = 0;        // of the order in which cells are measured
  bool own_cables = false;  // every two ranks have a link that no others use
};

// Operations of which there is more than one algorithm.
std::vector<Op> tunable_ops();
// What `auto` takes where nothing is tuned, by its full name.
std::string usual_algorithm(Op op, uint64_t bytes, int ranks, bool own_cables = false);

// Times are still 0.
using Questions = std::vector<MeasuredOperation>;
Questions calibration_of(const TuneSpec& spec);
// The candidates are algorithms within kNearBest of the predicted best, kMostNear at most, and the
// usual one, without those that only have other names for the same; where the usual one is alone
// nothing is asked. Of each size the usual one comes first, then what is predicted to be fastest.
// Sizes go by a factor of 4, and by 2 where another one becomes the fastest.
inline constexpr double kNearBest = 1.5;
inline constexpr size_t kMostNear = 4;
Questions near_crossings(const TuneSpec& spec, const Topology& topology);
// Between the sizes by which the table was decided: what it says, and the usual algorithm.
Questions held_out_of(const TuneSpec& spec, const std::vector<TunedRow>& table,
                      std::span<const MeasuredOperation> measured);

// How long asking may take in all. One question ends after a slot of time, or after the most
// operations, but not before the least.
struct AskingTime {
  int64_t room_ns = 0;
  int64_t slot_ns = 0;
  int64_t least_operations = 1, most_operations = 1;
};
// In which order they are asked: at random, those of one operation and size side by side, since
// half of them decide nothing. Where there is no room for all, the sizes that take the shortest
// time by the model come first, each with its questions as they stand.
Questions in_order(Questions questions, const Topology& topology, const AskingTime& time,
                   uint64_t seed);

// What was found best, as ranges from 0 to twice the largest size; a range ends where the measured
// times of it and the next would cross. What is not faster by kLeastGain is no reason to leave the
// usual algorithm. What was asked about a size and not answered for want of time the model decides,
// as it does for `auto` beyond the table, but for nothing that failed, or lost where it was
// measured.
inline constexpr double kLeastGain = 1.03;
struct Answers {
  std::span<const MeasuredOperation> asked;  // without times, as those that failed
  std::span<const MeasuredOperation> measured;
  std::span<const MeasuredOperation> failed = {};
};
std::vector<TunedRow> table_of(const TuneSpec& spec, const Topology& topology,
                               const Answers& answers);

// One size that nothing was decided by.
struct HeldOut {
  Op op = Op::kAllreduce;
  uint64_t bytes = 0;
  std::string algorithm, usual;
  double ns = 0, predicted_ns = 0;
  std::optional<double> usual_ns;

  double gain() const { return usual_ns ? *usual_ns / ns : 1; }
  double error() const;  // of the prediction: |predicted / measured - 1|
};
std::vector<HeldOut> judge_held_out(const TuneSpec& spec, const Tuning& tuning,
                                    std::span<const MeasuredOperation> measured);

}  // namespace plumbline
