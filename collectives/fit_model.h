// The numbers of a topology from times that were measured on it. Every measured operation is one
// that predict.h can time, ping-pong and streams as well as collectives, so that all of them are
// held against the same model: those numbers are sought with which the logarithms of predicted and
// measured times differ least, by going up and down with one number or two after the other, in ever
// smaller steps (direct search: R. Hooke and T. Jeeves, Direct search solution of numerical and
// statistical problems, 1961). Links keep the proportions that they begin with; what order they
// suggest for a ring is in the topology too. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/predict.h"
#include "collectives/topology.h"
#include "core/error.h"

namespace plumbline {

// One operation as it was measured (measured_request).
struct MeasuredOperation {
  Op op = Op::kAllreduce;
  uint64_t bytes = 0;     // S of core/op.h
  std::string algorithm;  // its full name
  double ns = 0;
};

struct FittedModel {
  Topology topology;
  double median_error = 0;  // of the times that it was fitted to: |predicted / measured - 1|
};

// `start`: who is where, and links if something is known of them (only their proportions count,
// empty = all are alike). kConfig when no operation is among `measured` that could be predicted.
Expected<FittedModel> fit_model(const Topology& start, std::span<const MeasuredOperation> measured);

// What is asked for to do such an operation of f32, in place where it has such a form.
ScheduleRequest measured_request(int ranks, Op op, uint64_t bytes);
// An operation as it was measured, to be timed by a model; nothing where there is no such algorithm
// for so many ranks.
std::optional<PredictedOperation> predicted_operation(int ranks, Op op, uint64_t bytes,
                                                      const std::string& algorithm);
// ns on this topology; nothing where it cannot be predicted.
std::optional<double> predict_ns(const Topology& topology, Op op, uint64_t bytes,
                                 const std::string& algorithm);

}  // namespace plumbline
