#include "collectives/fit_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/predict.h"
#include "collectives/suggested_order.h"
#include "core/stats/stats.h"

namespace plumbline {
namespace {

// What the search begins with (of the links' that follows from the times), and the bounds that it
// stays within: whatever a network can do.
struct Knob {
  double start, least, most;
};
constexpr std::array kKnobs = {
    Knob{20e3, 1, 1e10},    // alpha of the links, ns
    Knob{2e9, 1e3, 1e13},   // bytes/s of the links
    Knob{0.1, 1e-3, 0.5},   // message_ns, a share of the least alpha: both ends have one
    Knob{3e9, 1e3, 1e13},   // port
    Knob{4e9, 1e3, 1e13},   // rank
    Knob{10e9, 1e3, 1e13},  // reduce
};
using KnobValues = std::array<double, kKnobs.size()>;

constexpr double kMostAlpha = 4;  // times the one that the search begins with
// Twice, because what one number has spoiled another may have made up for.
constexpr std::array kFitSteps = {8.0, 3.0, 1.7, 1.3,  1.12, 1.05, 1.02,
                                  4.0, 1.7, 1.2, 1.05, 1.02, 1.01};
constexpr int kMostSweeps = 40;  // with one step

// Which numbers go up (1) and down (-1).
using Move = std::array<int, kKnobs.size()>;

// One number, and two at a time, because one may make up for another.
std::vector<Move> all_moves() {
  std::vector<Move> moves;
  for (size_t i = 0; i < kKnobs.size(); ++i) {
    for (const int way : {1, -1}) {
      Move one = {};
      one[i] = way;
      moves.push_back(one);
      for (size_t j = 0; j < i; ++j) {
        for (const int other : {1, -1}) {
          Move two = one;
          two[j] = other;
          moves.push_back(two);
        }
      }
    }
  }
  return moves;
}

// The links' proportions: their mean is 1.
struct Proportions {
  explicit Proportions(const Topology& start) : of_links(start.links) {
    const size_t pairs = start.host_of.size() * start.host_of.size();
    if (of_links.size() != pairs) of_links.assign(pairs, {1, 1});
    double alpha = 0, rate = 0, count = 0;
    for (const LinkModel& link : of_links) {
      if (link.alpha_ns <= 0 || link.bytes_per_s <= 0) continue;
      alpha += std::log(link.alpha_ns);
      rate += std::log(link.bytes_per_s);
      ++count;
    }
    const double mean_alpha = std::exp(alpha / std::max(1.0, count));
    const double mean_rate = std::exp(rate / std::max(1.0, count));
    for (LinkModel& link : of_links) {
      const bool known = link.alpha_ns > 0 && link.bytes_per_s > 0;
      link = known ? LinkModel{link.alpha_ns / mean_alpha, link.bytes_per_s / mean_rate}
                   : LinkModel{1, 1};
    }
  }
  std::vector<LinkModel> of_links;
};

Topology topology_with(const Topology& start, const Proportions& proportions,
                       const KnobValues& values) {
  Topology topology = start;
  topology.links = proportions.of_links;
  for (LinkModel& link : topology.links) {
    link.alpha_ns *= values[0];
    link.bytes_per_s *= values[1];
  }
  double least = kKnobs[0].most;
  for (int from = 0; from < topology.ranks(); ++from) {
    for (int to = 0; to < topology.ranks(); ++to) {
      if (from != to) least = std::min(least, topology.link(from, to).alpha_ns);
    }
  }
  topology.message_ns = values[2] * least;
  topology.port_bytes_per_s = values[3];
  topology.rank_bytes_per_s = values[4];
  topology.reduce_bytes_per_s = values[5];
  return topology;
}

struct FitSample {
  PredictedOperation operation;
  double ns;
};

// Alpha as if the fastest operation were one message there and back; the rates in the proportions
// of the table, beta as if what neighbours exchange had nothing else to wait for.
void begin_with(std::span<const MeasuredOperation> measured, KnobValues& values) {
  double least_ns = 0, most_rate = 0;
  for (const MeasuredOperation& one : measured) {
    if (one.ns <= 0) continue;
    least_ns = least_ns > 0 ? std::min(least_ns, one.ns) : one.ns;
    if (!row(one.op).point_to_point) continue;
    most_rate = std::max(most_rate, static_cast<double>(one.bytes) / one.ns * 1e9);
  }
  if (least_ns > 0) values[0] = std::clamp(least_ns / 2, kKnobs[0].least, kKnobs[0].most);
  const double faster = most_rate > 0 ? most_rate / kKnobs[1].start : 1;
  for (const size_t rate : {1, 3, 4, 5}) {
    values[rate] = std::clamp(values[rate] * faster, kKnobs[rate].least, kKnobs[rate].most);
  }
}

// Mean over the distances of the logarithms: squares of small ones, so that the search does not get
// caught in a kink, and large ones as they are, so that one time that something else has spoiled
// does not bend the model (pseudo-Huber loss; P. Charbonnier et al., 1997).
constexpr double kSmallDistance = 0.3;

double distance(const std::vector<FitSample>& samples, const Topology& topology) {
  double sum = 0;
  for (const FitSample& sample : samples) {
    const std::optional<double> time = sample.operation.time_ns(topology);
    if (time && *time > 0) sum += std::hypot(std::log(*time / sample.ns), kSmallDistance);
  }
  return sum / static_cast<double>(samples.size());
}

double median_error(const std::vector<FitSample>& samples, const Topology& topology) {
  std::vector<double> errors;
  for (const FitSample& sample : samples) {
    if (const auto time = sample.operation.time_ns(topology)) {
      errors.push_back(std::abs(*time / sample.ns - 1));
    }
  }
  return median(std::move(errors));
}

}  // namespace

ScheduleRequest measured_request(int ranks, Op op, uint64_t bytes) {
  ScheduleRequest request;
  request.op = op;
  request.size = ranks;
  request.count = shape_of(op, DType::kF32, ranks, bytes).count;
  request.elem_size = size_of(DType::kF32);
  request.in_place = row(op).has_in_place;
  return request;
}

std::optional<PredictedOperation> predicted_operation(int ranks, Op op, uint64_t bytes,
                                                      const std::string& algorithm) {
  if (ranks > kMostPredictedRanks) return std::nullopt;
  ScheduleRequest request = measured_request(ranks, op, bytes);
  const Expected<const AlgorithmRow*> found = find_algorithm(algorithm, request);
  if (!found) return std::nullopt;
  return PredictedOperation(**found, std::move(request));
}

std::optional<double> predict_ns(const Topology& topology, Op op, uint64_t bytes,
                                 const std::string& algorithm) {
  const auto operation = predicted_operation(topology.ranks(), op, bytes, algorithm);
  return operation ? operation->time_ns(topology) : std::nullopt;
}

Expected<FittedModel> fit_model(const Topology& start,
                                std::span<const MeasuredOperation> measured) {
  const Proportions proportions(start);
  KnobValues values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = kKnobs[i].start;
  begin_with(measured, values);
  // No operation is faster than a message; where links differ, their mean may be some times that of
  // the fastest.
  const double most_alpha = kMostAlpha * values[0];
  std::vector<FitSample> samples;
  for (const MeasuredOperation& one : measured) {
    auto operation = predicted_operation(start.ranks(), one.op, one.bytes, one.algorithm);
    const Topology first = topology_with(start, proportions, values);
    if (!operation || one.ns <= 0 || operation->time_ns(first).value_or(0) <= 0) continue;
    samples.push_back({std::move(*operation), one.ns});
  }
  if (samples.empty()) {
    return fail(ErrorCode::kConfig, "no measured operation is one that can be predicted",
                "measure some between at least two ranks");
  }
  double best = distance(samples, topology_with(start, proportions, values));
  const std::vector<Move> moves = all_moves();
  for (const double step : kFitSteps) {
    bool better = true;
    for (int sweep = 0; better && sweep < kMostSweeps; ++sweep) {
      better = false;
      for (const Move& move : moves) {
        KnobValues tried = values;
        for (size_t i = 0; i < tried.size(); ++i) {
          const double most = i == 0 ? most_alpha : kKnobs[i].most;
          tried[i] = std::clamp(values[i] * std::pow(step, move[i]), kKnobs[i].least, most);
        }
        const double off = distance(samples, topology_with(start, proportions, tried));
        if (off >= best) continue;
        best = off;
        values = tried;
        better = true;
      }
    }
  }
  FittedModel model{topology_with(start, proportions, values), 0};
  model.median_error = median_error(samples, model.topology);
  suggest_order(model.topology);
  return model;
}

}  // namespace plumbline
