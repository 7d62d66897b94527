#include "collectives/footprint.h"

#include <algorithm>
#include <limits>

#include "collectives/operand.h"
#include "collectives/schedule.h"
#include "collectives/verifier.h"
#include "kernels/pattern.h"

namespace plumbline {
namespace {

// Program, connections, samples.
constexpr double kOfItself = 16.0 * 1024 * 1024;
// Steps of schedules that go segment by segment, as a share of the arrays.
constexpr double kStepsShare = 1.0 / 64;
constexpr double kPatternsKept = 4;
// Below this nobody's memory is at stake; the schedules of large worlds are not built for it.
constexpr double kSmall = 1024 * 1024;
constexpr int kRanksAsked = 8;  // of larger worlds the first ones stand for all

uint64_t whole(double bytes) {
  constexpr double kMost = 9.0e18;
  return static_cast<uint64_t>(std::min(bytes, kMost));
}

// Elements of the schedule's own; segments are made as large as the arrays, which changes nothing
// but the number of steps.
Expected<double> scratch_elems(const Cell& cell, Op op, const Shape& shape,
                               const OptionSet& options) {
  ScheduleRequest request;
  request.op = op;
  request.redop = redop_from(cell.redop).value_or(RedOp::kSum);
  request.size = cell.ranks;
  request.root = std::clamp(cell.root, 0, cell.ranks - 1);
  request.count = shape.count;
  request.elem_size = size_of(dtype_from(cell.dtype).value_or(DType::kF32));
  request.in_place = cell.placement == "in" && row(op).has_in_place;
  request.segment_bytes = std::numeric_limits<uint64_t>::max();
  const auto small = static_cast<uint64_t>(options.integer("small_msg_threshold"));
  const Expected<const AlgorithmRow*> algorithm = find_algorithm(cell.algorithm, request, small);
  if (!algorithm) return fail(algorithm.error());
  double most = 0;
  for (int rank = 0; rank < std::min(cell.ranks, kRanksAsked); ++rank) {
    request.rank = rank;
    most = std::max(most, static_cast<double>((*algorithm)->build(request).scratch_elems));
  }
  request.rank = request.root;
  return std::max(most, static_cast<double>((*algorithm)->build(request).scratch_elems));
}

}  // namespace

Expected<uint64_t> memory_of_roof(const Cell& cell, bool /*verified*/,
                                  const OptionSet& /*options*/) {
  return whole(kOfItself + 2 * static_cast<double>(cell.bytes));
}

Expected<uint64_t> memory_of_links(const Cell& /*cell*/, bool /*verified*/,
                                   const OptionSet& /*options*/) {
  return whole(kOfItself);
}

Expected<uint64_t> memory_of_operations(const Cell& cell, bool verified, const OptionSet& options) {
  const auto bytes = static_cast<double>(cell.bytes);
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  if (!op || !dtype) return whole(kOfItself);
  const Shape shape = shape_of(*op, *dtype, cell.ranks, cell.bytes);
  const auto width = static_cast<double>(size_of(*dtype));
  const auto in = static_cast<double>(shape.in_elems) * width;
  const auto out = static_cast<double>(shape.out_elems) * width;
  const bool in_place = cell.placement == "in" && row(*op).has_in_place;
  const auto slots = static_cast<double>(slots_of(cell, verify_mode(options, verified)).all());
  constexpr double kRounded = kOperandAlignment;  // at most, each buffer
  const double operands =
      slots * (in_place ? std::max(in, out) + kRounded : in + out + 2 * kRounded);
  double scratch = static_cast<double>(cell.ranks) * bytes;
  if (scratch > kSmall) {
    const Expected<double> elems = scratch_elems(cell, *op, shape, options);
    if (!elems) return fail(elems.error());
    scratch = *elems * width;
  }
  const auto in_flight = static_cast<double>(in_flight_of(cell));
  const double patterns = kPatternsKept * (cell.ranks + 1) * kPatternPeriod * width;
  return whole(kOfItself + operands * (1 + kStepsShare) + in_flight * scratch + patterns);
}

}  // namespace plumbline
