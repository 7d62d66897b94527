// A random history of operations: what is called, on which ranks and with which data, step by step,
// as a function of a seed, so that every rank knows the same one.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectives/executor.h"
#include "collectives/schedule.h"
#include "core/op.h"

namespace plumbline {

// Ranks of a world that run operations among themselves.
using Members = std::vector<int>;

// All, and where there are enough two halves and those with an even number, which use the others'
// time and connections of their own.
inline std::vector<Members> groups_of(int ranks) {
  std::vector<Members> groups(4);
  for (int rank = 0; rank < ranks; ++rank) {
    groups[0].push_back(rank);
    groups[rank < ranks / 2 ? 1 : 2].push_back(rank);
    if (rank % 2 == 0) groups[3].push_back(rank);
  }
  std::erase_if(groups, [](const Members& members) { return members.size() < 2; });
  return groups;
}

struct HistoryStep {
  size_t group = 0;
  OperationSpec spec;
  uint32_t seed = 0;
};

// The same steps on every rank.
class History {
 public:
  History(uint64_t seed, std::vector<Members> groups) : groups_(std::move(groups)), random_(seed) {}

  HistoryStep next() {
    HistoryStep step;
    step.group = below(2) == 0 ? 0 : below(groups_.size());
    const int ranks = static_cast<int>(groups_[step.group].size());
    do {
      step.spec = draw(ranks);
    } while (!possible(step.spec, ranks));
    step.seed = static_cast<uint32_t>(random_());
    return step;
  }

 private:
  static constexpr uint64_t kMostBytes = 4 << 20;

  uint64_t below(uint64_t limit) { return random_() % limit; }

  OperationSpec draw(int ranks) {
    const AlgorithmRow& algorithm = algorithm_table()[below(algorithm_table().size())];
    OperationSpec spec;
    spec.op = algorithm.op;
    spec.algorithm = algorithm.name;
    const ParameterForm form = algorithm.parameter.form;
    if (below(3) == 0) {
      spec.algorithm = "auto";
    } else if (form != ParameterForm::kNone && below(2) == 0) {
      const int number = form == ParameterForm::kNumber ? algorithm.parameter.most : ranks;
      spec.algorithm += ":" + std::to_string(number);
    }
    spec.root = static_cast<int>(below(static_cast<uint64_t>(ranks)));
    if (spec.op == Op::kBarrier) return spec;
    const DTypeRow& type = dtype_table()[below(dtype_table().size())];
    spec.dtype = type.dtype;
    if (row(spec.op).reduces) spec.redop = redop_table()[below(redop_table().size())].redop;
    spec.in_place = allows_in_place(spec.op) && below(2) == 0;
    // Each order of magnitude as often, from nothing on, and hardly ever a round number.
    const uint64_t bytes = below(uint64_t{2} << below(22));
    const uint64_t parts = row(spec.op).per_rank_share ? static_cast<uint64_t>(ranks) : 1;
    spec.count = std::min(bytes, kMostBytes) / type.size / parts;
    return spec;
  }

  static bool possible(const OperationSpec& spec, int ranks) {
    ScheduleRequest request;
    request.op = spec.op;
    request.redop = spec.redop;
    request.size = ranks;
    request.root = spec.root;
    request.count = spec.count;
    if (!reduction_unsupported(spec.dtype, spec.redop).empty()) return false;
    return ranks >= row(spec.op).min_ranks && find_algorithm(spec.algorithm, request);
  }

  const std::vector<Members> groups_;
  std::mt19937_64 random_;
};

}  // namespace plumbline
