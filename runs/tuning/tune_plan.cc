#include "runs/tuning/tune_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "collectives/predict.h"
#include "collectives/schedule.h"
#include "core/op.h"
#include "scenarios/plan.h"

namespace plumbline {
namespace {

constexpr uint64_t kSizeFactor = 4;  // from size to size
constexpr size_t kHeldOutEvery = 3;  // of the sizes
constexpr uint64_t kSmallCalibration = 8;
constexpr uint64_t kCalibrated[] = {64 << 10, 1 << 20};
constexpr const char* kMoved[] = {"ring", "direct"};

// Sizes of which every rank has something, each once.
std::vector<uint64_t> sizes_of(const TuneSpec& spec, Op op) {
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = spec.min_bytes; bytes <= spec.max_bytes; bytes *= kSizeFactor) {
    const uint64_t whole = shape_of(op, DType::kF32, spec.ranks, bytes).bytes;
    if (whole > 0 && (sizes.empty() || sizes.back() != whole)) sizes.push_back(whole);
  }
  return sizes;
}

// The same, and those that were measured beside them.
std::vector<uint64_t> sizes_of(const TuneSpec& spec, Op op,
                               std::span<const MeasuredOperation> measured) {
  std::vector<uint64_t> sizes = sizes_of(spec, op);
  for (const MeasuredOperation& one : measured) {
    if (one.op == op) sizes.push_back(one.bytes);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<Op> ops_of(const TuneSpec& spec) { return spec.ops.empty() ? tunable_ops() : spec.ops; }

const MeasuredOperation* find(std::span<const MeasuredOperation> measured, Op op, uint64_t bytes,
                              const std::string& algorithm) {
  for (const MeasuredOperation& one : measured) {
    if (one.op == op && one.bytes == bytes && one.algorithm == algorithm) return &one;
  }
  return nullptr;
}

const MeasuredOperation* fastest(std::span<const MeasuredOperation> measured, Op op,
                                 uint64_t bytes) {
  const MeasuredOperation* best = nullptr;
  for (const MeasuredOperation& one : measured) {
    if (one.op != op || one.bytes != bytes) continue;
    if (best == nullptr || one.ns < best->ns) best = &one;
  }
  return best;
}

// By the logarithms: 0 = a, 1 = b.
uint64_t between(uint64_t a, uint64_t b, double share) {
  const auto from = static_cast<double>(a), to = static_cast<double>(b);
  return std::min(static_cast<uint64_t>(from * std::pow(to / from, share)), b - 1);
}

// By the model: which algorithm is fastest; and the usual one with those that it cannot tell from
// the fastest, each a different one.
struct Near {
  std::string fastest;
  std::vector<std::string> names;
};
Near near_best(const TuneSpec& spec, const Topology& topology, Op op, uint64_t bytes) {
  std::vector<std::pair<double, std::string>> predicted;
  ScheduleRequest request = measured_request(spec.ranks, op, bytes);
  request.topology = &topology;
  for (std::string& name : candidates_for(request)) {
    const std::optional<double> time = predict_ns(topology, op, bytes, name);
    if (time) predicted.emplace_back(*time, std::move(name));
  }
  std::sort(predicted.begin(), predicted.end());
  Near near = {predicted.empty() ? "" : predicted.front().second,
               {usual_algorithm(op, bytes, spec.ranks, spec.own_cables)}};
  auto seen = std::vector{predicted_operation(spec.ranks, op, bytes, near.names.front())};
  for (auto& [time, name] : predicted) {
    if (near.names.size() > kMostNear || time > kNearBest * predicted.front().first) break;
    auto operation = predicted_operation(spec.ranks, op, bytes, name);
    if (std::find(seen.begin(), seen.end(), operation) != seen.end()) continue;
    seen.push_back(std::move(operation));
    near.names.push_back(std::move(name));
  }
  return near;
}

// The size at which `larger` begins to be faster than `smaller`, which were best at the neighbours
// a and b: where the logarithms of their times would cross on straight lines.
uint64_t crossing(std::span<const MeasuredOperation> measured, const TunedRange& smaller,
                  uint64_t a, const TunedRange& larger, uint64_t b) {
  double log_ratio[2] = {0, 0};  // of their times, at a and at b
  for (const size_t i : {0, 1}) {
    const MeasuredOperation* first = find(measured, smaller.op, i == 0 ? a : b, smaller.algorithm);
    const MeasuredOperation* second = find(measured, larger.op, i == 0 ? a : b, larger.algorithm);
    if (first == nullptr || second == nullptr) return between(a, b, 0.5);
    log_ratio[i] = std::log(first->ns / second->ns);
  }
  const double rise = log_ratio[1] - log_ratio[0];
  return between(a, b, rise > 0 ? std::clamp(-log_ratio[0] / rise, 0.0, 1.0) : 0.5);
}

// What `auto` takes, by its full name, where nothing or only a model is known.
std::string untuned_algorithm(const TuneSpec& spec, Op op, uint64_t bytes,
                              const Topology* topology) {
  ScheduleRequest request = measured_request(spec.ranks, op, bytes);
  request.own_cables = spec.own_cables;
  request.topology = topology;
  const Expected<const AlgorithmRow*> found = find_algorithm("auto", request);
  return found ? full_name(**found, request) : std::string();
}

// What the model promises to be clearly faster at a size whose questions were not answered; empty =
// nothing that could be believed.
std::string promised(const TuneSpec& spec, const Topology& topology, Op op, uint64_t bytes,
                     const Answers& answers) {
  const auto same_size = [&](const MeasuredOperation& one) {
    return one.op == op && one.bytes == bytes;
  };
  if (std::none_of(answers.asked.begin(), answers.asked.end(), same_size)) return {};
  std::string name = untuned_algorithm(spec, op, bytes, &topology);
  for (const MeasuredOperation& one : answers.failed) {
    if (one.op == op && one.algorithm == name) return {};
  }
  const MeasuredOperation* const own = find(answers.measured, op, bytes, name);
  if (own != nullptr && own != fastest(answers.measured, op, bytes)) return {};
  return name;
}

// One size of the table, still without its range.
TunedRow row_at(const TuneSpec& spec, const Topology& topology, Op op, uint64_t bytes,
                const Answers& answers) {
  TunedRow row;
  row.range.op = op;
  row.usual = row.range.algorithm = untuned_algorithm(spec, op, bytes, nullptr);
  const MeasuredOperation* usual = find(answers.measured, op, bytes, row.usual);
  double best = 1;
  size_t others = 0;
  for (const MeasuredOperation& one : answers.measured) {
    if (usual == nullptr || &one == usual || one.op != op || one.bytes != bytes) continue;
    ++others;
    const double gain = usual->ns / one.ns;
    if (gain < std::max(kLeastGain, best)) continue;
    row.range.algorithm = one.algorithm;
    best = gain;
  }
  if (others > 0) {
    row.gain = best;
    return row;
  }
  // What failed is left for the best of those that did not, without a gain to tell.
  const bool failed = find(answers.failed, op, bytes, row.usual) != nullptr;
  const MeasuredOperation* const rest = failed ? fastest(answers.measured, op, bytes) : nullptr;
  if (rest != nullptr) {
    row.range.algorithm = rest->algorithm;
  } else if (std::string name = promised(spec, topology, op, bytes, answers); !name.empty()) {
    row.range.algorithm = std::move(name);
  }
  return row;
}

// An operation at one size, and how long asking its questions once takes by the model.
struct QuestionsOfSize {
  std::vector<MeasuredOperation> questions;
  double ns = 0;
};

}  // namespace

std::vector<Op> tunable_ops() {
  std::vector<Op> ops;
  for (const OpRow& op : op_table()) {
    const auto& rows = algorithm_table();
    const auto count = std::count_if(rows.begin(), rows.end(), [&](const AlgorithmRow& algorithm) {
      return algorithm.op == op.op && !is_tree(algorithm);
    });
    if (count > 1) ops.push_back(op.op);
  }
  return ops;
}

std::string usual_algorithm(Op op, uint64_t bytes, int ranks, bool own_cables) {
  TuneSpec spec;
  spec.ranks = ranks;
  spec.own_cables = own_cables;
  return untuned_algorithm(spec, op, bytes, nullptr);
}

Questions calibration_of(const TuneSpec& spec) {
  Questions questions;
  const auto ask = [&](Op op, uint64_t bytes, const char* algorithm) {
    const uint64_t whole =
        shape_of(op, DType::kF32, spec.ranks, std::min(bytes, spec.max_bytes)).bytes;
    ScheduleRequest request = measured_request(spec.ranks, op, whole);
    if (whole == 0 || !find_algorithm(algorithm, request)) return;
    if (find(questions, op, whole, algorithm) == nullptr) {
      questions.push_back({op, whole, algorithm, 0});
    }
  };
  // Latency and rate of one way, both ways at once, with all ranks moving, with reductions.
  const uint64_t small = kSmallCalibration * static_cast<uint64_t>(spec.ranks);
  ask(Op::kPingpong, kSmallCalibration, "direct");
  ask(Op::kSendrecv, kSmallCalibration, "direct");
  ask(Op::kAlltoall, small, "direct");
  ask(Op::kAllreduce, small, "ring");
  for (const uint64_t bytes : kCalibrated) {
    ask(Op::kPingpong, bytes, "direct");
    ask(Op::kStream, bytes, "direct");
    ask(Op::kSendrecv, bytes, "direct");
    ask(Op::kAlltoall, bytes, "direct");
    ask(Op::kAllgather, bytes, "ring");
    // One direction over several links: the port, which is not the thread.
    ask(Op::kGather, bytes, "direct");
    ask(Op::kScatter, bytes, "direct");
    for (const char* algorithm : kMoved) ask(Op::kReduceScatter, bytes, algorithm);
  }
  ask(Op::kStream, spec.max_bytes, "direct");
  ask(Op::kAllreduce, spec.max_bytes, "ring");
  return questions;
}

Questions near_crossings(const TuneSpec& spec, const Topology& topology) {
  Questions questions;
  const auto ask = [&](Op op, uint64_t bytes, const std::vector<std::string>& names) {
    if (names.size() < 2) return;
    for (const std::string& name : names) questions.push_back({op, bytes, name, 0});
  };
  for (const Op op : ops_of(spec)) {
    std::string fastest;  // at the size before
    uint64_t before = 0;
    for (const uint64_t bytes : sizes_of(spec, op)) {
      const Near near = near_best(spec, topology, op, bytes);
      ask(op, bytes, near.names);
      if (before > 0 && near.fastest != fastest) {
        const uint64_t middle =
            shape_of(op, DType::kF32, spec.ranks, between(before, bytes, 0.5)).bytes;
        if (middle > before) ask(op, middle, near_best(spec, topology, op, middle).names);
      }
      fastest = near.fastest;
      before = bytes;
    }
  }
  return questions;
}

Questions in_order(Questions questions, const Topology& topology, const AskingTime& time,
                   uint64_t seed) {
  std::map<std::pair<Op, uint64_t>, QuestionsOfSize> sizes;
  double all_ns = 0;
  for (MeasuredOperation& one : questions) {
    QuestionsOfSize& same = sizes[{one.op, one.bytes}];
    const double one_ns = predict_ns(topology, one.op, one.bytes, one.algorithm).value_or(0);
    const double ns = std::max(static_cast<double>(time.least_operations) * one_ns,
                               std::min(static_cast<double>(time.most_operations) * one_ns,
                                        static_cast<double>(time.slot_ns)));
    same.ns += ns;
    all_ns += ns;
    same.questions.push_back(std::move(one));
  }
  std::vector<QuestionsOfSize> order;
  for (auto& [key, same] : sizes) order.push_back(std::move(same));
  SplitMix64 random(seed);
  shuffle(order, random);
  if (all_ns > static_cast<double>(time.room_ns)) {
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.ns < b.ns; });
  } else {
    for (QuestionsOfSize& same : order) shuffle(same.questions, random);
  }
  questions.clear();
  for (QuestionsOfSize& same : order) {
    std::move(same.questions.begin(), same.questions.end(), std::back_inserter(questions));
  }
  return questions;
}

std::vector<TunedRow> table_of(const TuneSpec& spec, const Topology& topology,
                               const Answers& answers) {
  const std::span<const MeasuredOperation> measured = answers.measured;
  std::vector<TunedRow> table;
  for (const Op op : ops_of(spec)) {
    const std::vector<uint64_t> sizes = sizes_of(spec, op, measured);
    double log_gain = 0, gains = 0;  // of the range so far
    for (size_t i = 0; i < sizes.size(); ++i) {
      TunedRow row = row_at(spec, topology, op, sizes[i], answers);
      row.range.to_bytes = 2 * sizes[i];
      TunedRow* before = i > 0 ? &table.back() : nullptr;
      // What was measured and what is promised are told apart.
      const bool like_before =
          before != nullptr &&
          (row.range.algorithm == row.usual || before->gain.has_value() == row.gain.has_value());
      const bool goes_on = like_before && before->usual == row.usual &&
                           before->range.algorithm == row.range.algorithm;
      if (before != nullptr && !goes_on) {
        before->range.to_bytes =
            crossing(measured, before->range, sizes[i - 1], row.range, sizes[i]);
        row.range.from_bytes = before->range.to_bytes + 1;
      }
      if (!goes_on) log_gain = gains = 0;
      if (row.gain) {
        log_gain += std::log(*row.gain);
        ++gains;
      }
      if (gains > 0) row.gain = std::exp(log_gain / gains);
      if (!goes_on) {
        table.push_back(std::move(row));
        continue;
      }
      before->range.to_bytes = row.range.to_bytes;
      before->gain = row.gain;
    }
  }
  return table;
}

Questions held_out_of(const TuneSpec& spec, const std::vector<TunedRow>& table,
                      std::span<const MeasuredOperation> measured) {
  Questions questions;
  for (const Op op : ops_of(spec)) {
    const std::vector<uint64_t> sizes = sizes_of(spec, op, measured);
    for (size_t i = 0; i + 1 < sizes.size(); i += kHeldOutEvery) {
      const uint64_t bytes =
          shape_of(op, DType::kF32, spec.ranks, between(sizes[i], sizes[i + 1], 0.5)).bytes;
      if (bytes <= sizes[i]) continue;  // there is none in between
      for (const TunedRow& row : table) {
        const TunedRange& range = row.range;
        if (range.op != op || bytes < range.from_bytes || bytes > range.to_bytes) continue;
        const std::string usual = usual_algorithm(op, bytes, spec.ranks, spec.own_cables);
        questions.push_back({op, bytes, range.algorithm, 0});
        if (usual != range.algorithm) questions.push_back({op, bytes, usual, 0});
      }
    }
  }
  return questions;
}

double HeldOut::error() const { return std::abs(predicted_ns / ns - 1); }

std::vector<HeldOut> judge_held_out(const TuneSpec& spec, const Tuning& tuning,
                                    std::span<const MeasuredOperation> measured) {
  std::vector<HeldOut> judged;
  const std::vector<TunedRange> ranges = tuning.ranges();
  for (const MeasuredOperation& one : measured) {
    ScheduleRequest request = measured_request(spec.ranks, one.op, one.bytes);
    request.tuned = &ranges;
    const Expected<const AlgorithmRow*> chosen = find_algorithm("auto", request);
    if (!chosen || full_name(**chosen, request) != one.algorithm) continue;
    const auto predicted = predict_ns(tuning.model.topology, one.op, one.bytes, one.algorithm);
    if (!predicted) continue;
    HeldOut row = {one.op,
                   one.bytes,
                   one.algorithm,
                   usual_algorithm(one.op, one.bytes, spec.ranks, spec.own_cables),
                   one.ns,
                   *predicted,
                   {}};
    const MeasuredOperation* usual = find(measured, one.op, one.bytes, row.usual);
    if (usual != nullptr) row.usual_ns = usual->ns;
    judged.push_back(std::move(row));
  }
  return judged;
}

}  // namespace plumbline
