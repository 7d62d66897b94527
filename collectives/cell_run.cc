#include "collectives/cell_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "collectives/endpoints/endpoint_measure.h"
#include "collectives/engine.h"
#include "collectives/links/link_measure.h"
#include "collectives/list_work.h"
#include "collectives/schedule.h"
#include "collectives/verifier.h"
#include "core/clock.h"
#include "core/split.h"
#include "kernels/pattern.h"

namespace plumbline {
namespace {

// Program, connections, samples.
constexpr double kOfItself = 16.0 * 1024 * 1024;
// Steps of schedules that go segment by segment, as a share of the arrays.
constexpr double kStepsShare = 1.0 / 64;
// A step of a schedule that is prepared; of a list each operation has its own (128 KiB among 64
// ranks are 250 steps).
constexpr double kStepBytes = 300;
constexpr double kRounded = kArrayAlignment;  // at most, each buffer
// Below this nobody's memory is at stake; the schedules of large worlds are not built for it.
constexpr double kSmall = 1024 * 1024;
constexpr int kRanksAsked = 8;  // of larger worlds the first ones stand for all

uint64_t whole(double bytes) {
  constexpr double kMost = 9.0e18;
  return static_cast<uint64_t>(std::min(bytes, kMost));
}

Expected<const AlgorithmRow*> algorithm_for(const Cell& cell, ScheduleRequest& request,
                                            const OptionSet& options) {
  return find_algorithm(cell.algorithm, request,
                        static_cast<uint64_t>(options.integer("small_msg_threshold")));
}

// Bytes of the schedule's own, and of messages that are not sent from where the data lie.
double scratch_of(const AlgorithmRow& algorithm, const ScheduleRequest& request) {
  const Schedule schedule = build_schedule(algorithm, request);
  const double own = static_cast<double>(schedule.scratch_elems * request.elem_size) + kRounded +
                     static_cast<double>(schedule.steps.size()) * kStepBytes;
  if (!request.codec.halves()) return own;
  return own + static_cast<double>(cost_of(schedule, request.elem_size).send_bytes);
}

std::vector<ListShare> shares_of(const Cell& cell, DType dtype) {
  return list_shares(dtype, cell.bytes / size_of(dtype), cell.arrays);
}

// The operations that run for one of the cell, and how many of each.
struct RequestedShare {
  ScheduleRequest request;
  uint64_t times = 1;
};
std::vector<RequestedShare> requests_of(const Cell& cell, Op op, DType dtype,
                                        const RankPairs* apart = nullptr) {
  const ScheduleRequest largest = schedule_request_of(cell, op, dtype, apart);
  if (cell.arrays == 1) return {{largest}};
  std::vector<RequestedShare> requests;
  for (const ListShare& share : shares_of(cell, dtype)) {
    RequestedShare& one = requests.emplace_back(RequestedShare{largest, share.times});
    one.request.count = share.elements;
    one.request.in_place = largest.in_place || share.packed;
  }
  return requests;
}

// Bytes of the arrays of a list that are packed.
uint64_t packed_bytes(const Cell& cell, DType dtype) {
  uint64_t elements = 0;
  for (const ListShare& share : shares_of(cell, dtype)) {
    if (share.packed) elements += share.elements * share.times;
  }
  return elements * size_of(dtype);
}

Expected<double> scratch_bytes(const Cell& cell, ScheduleRequest request,
                               const OptionSet& options) {
  const Expected<const AlgorithmRow*> algorithm = algorithm_for(cell, request, options);
  if (!algorithm) return fail(algorithm.error());
  double most = 0;
  for (int rank = 0; rank < std::min(request.size, kRanksAsked); ++rank) {
    request.rank = rank;
    most = std::max(most, scratch_of(**algorithm, request));
  }
  request.rank = request.root;
  return std::max(most, scratch_of(**algorithm, request));
}

// What topk has beside: for each array what was not sent; for each operation the frames of all
// ranks, and places and magnitudes of what may be chosen; and as much again to verify with.
double sparse_bytes(const Cell& cell, uint64_t count, double slots, double in_flight) {
  const Codec codec = parse_codec(cell.compression).value_or(Codec{});
  if (!codec.sparse() || cell.ranks < 2) return 0;
  const auto array = static_cast<double>(count * sizeof(float));
  const auto frames = static_cast<double>(kept_elements(codec, count) * 2 * sizeof(float)) *
                      static_cast<double>(group_ranks(cell));
  return slots * array + in_flight * (frames + 2 * array) + 4 * array + frames;
}

// What a message without data takes: its header is larger than this.
constexpr uint64_t kLeastMessage = 8;

// Bytes from one rank to another, by (from, to).
using Traffic = std::map<std::pair<int, int>, uint64_t>;

std::optional<Traffic> traffic_of(const std::vector<RequestedShare>& requests, const Cell& cell,
                                  const OptionSet& options) {
  Traffic traffic;
  for (auto [request, times] : requests) {
    const Expected<const AlgorithmRow*> algorithm = algorithm_for(cell, request, options);
    if (!algorithm) return std::nullopt;
    for (request.rank = 0; request.rank < request.size; ++request.rank) {
      for (const Step& step : build_schedule(**algorithm, request).steps) {
        if (step.kind != StepKind::kSend) continue;
        traffic[{request.rank, step.peer}] +=
            times * std::max(kLeastMessage, step.source.count * wire_size(step, request.elem_size));
      }
    }
  }
  return traffic;
}

// Of the rank that has most. Operations of a list are under way together: the longest chain of one
// is that of all.
std::optional<ScheduleCost> add_cost(const RequestedShare& share, const Cell& cell,
                                     const OptionSet& options, ScheduleCost so_far) {
  ScheduleRequest request = share.request;
  const Expected<const AlgorithmRow*> algorithm = algorithm_for(cell, request, options);
  if (!algorithm) return std::nullopt;
  ScheduleCost most = cost_of(**algorithm, request);
  const auto raise = [](uint64_t& value, uint64_t by) { value = std::max(value, by); };
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    const ScheduleCost one = cost_of((*algorithm)->build(request), request.elem_size);
    raise(most.send_bytes, std::max(one.send_bytes, one.recv_bytes));
    raise(most.reduce_bytes, one.reduce_bytes);
    raise(most.copy_bytes, one.copy_bytes);
  }
  so_far.depth = std::max(so_far.depth, most.depth);
  so_far.send_bytes += share.times * most.send_bytes;
  so_far.reduce_bytes += share.times * most.reduce_bytes;
  so_far.copy_bytes += share.times * most.copy_bytes;
  return so_far;
}

constexpr int64_t kBesideMs = 60'000;  // preparing, filling, verifying
constexpr int64_t kTimesMeant = 20;    // phases that last a time are given so many times that
constexpr int64_t kMostMs = int64_t{366} * 24 * 3600 * 1000;

// Operations that the settings ask for by number, late ones made up for.
double counted_operations(const MeasureSettings& settings) {
  const double samples = std::max(0, settings.fixed_warmup) +
                         static_cast<double>(kMostTries) * std::max(0, settings.fixed_iterations);
  return samples * std::max(1, settings.aggregate) + std::max(0, settings.cold_operations) +
         std::max(0, settings.verify_iterations);
}

constexpr CellRunRow kRuns[] = {
    {CellKind::kLatency, measure, memory_of_operations, nullptr},
    {CellKind::kBandwidth, measure, memory_of_operations, nullptr},
    {CellKind::kThroughput, measure, memory_of_operations, nullptr},
    {CellKind::kCheck, measure, memory_of_operations, nullptr},
    {CellKind::kLink, measure_links, memory_of_links, link_cell_limit_ms},
    {CellKind::kRoof, measure_roof, memory_of_roof, nullptr},
    {CellKind::kEndpoint, measure_endpoint, memory_of_links, endpoint_cell_limit_ms},
};

}  // namespace

std::string groups_unsupported(const Cell& cell) {
  const Expected<Split> split = parse_split(cell.split);
  if (!split) return split.error().message();
  if (*split && cell.engine != kNativeEngine) {
    return fmt::format("groups {} are made by the engine {} only, not by {}: use that, or none",
                       cell.split, kNativeEngine, cell.engine);
  }
  return split_unsupported(*split, cell.ranks);
}

ScheduleRequest schedule_request_of(const Cell& cell, Op op, DType dtype, const RankPairs* apart) {
  ScheduleRequest request;
  request.apart = apart;
  request.op = op;
  request.redop = redop_from(cell.redop).value_or(RedOp::kSum);
  request.size = group_ranks(cell);
  request.root = std::clamp(cell.root, 0, request.size - 1);
  request.count = shape_of(op, dtype, request.size, cell.bytes).count;
  if (cell.arrays > 1) {
    request.count = 0;
    for (const ListShare& share : shares_of(cell, dtype)) {
      request.count = std::max(request.count, share.elements);
    }
  }
  request.elem_size = size_of(dtype);
  request.in_place = cell.placement == "in" && row(op).has_in_place;
  request.segment_bytes = std::numeric_limits<uint64_t>::max();
  if (request.size > 1) request.codec = parse_codec(cell.compression).value_or(Codec{});
  return moving_request(request);
}

Expected<std::string> algorithm_between(const Cell& cell, const OptionSet& options,
                                        const RankPairs& apart, bool own_cables) {
  if (cell.kind == CellKind::kRoof) return cell.algorithm;
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  const bool ours = op && dtype && cell.engine == kNativeEngine;
  const bool by_cables = own_cables && ours && cell.algorithm == "auto";
  if (apart.empty() && !by_cables) return cell.algorithm;
  if (!ours) {
    return fail(ErrorCode::kUnsupported, "engine " + cell.engine + " connects all ranks");
  }
  if (!cell.split.empty() && !apart.empty()) {
    return fail(ErrorCode::kUnsupported,
                "groups " + cell.split + " need ranks that are all connected");
  }
  if (const auto tree = spanning_tree(cell.ranks, apart); !tree) return fail(tree.error());
  OptionSet own = options;
  for (const auto& [name, value] : cell.params) {
    Expected<OptionSet> with = own.with(name, value, "cell");
    if (!with) return fail(with.error());
    own = std::move(*with);
  }
  ScheduleRequest request = schedule_request_of(cell, *op, *dtype, &apart);
  request.own_cables = own_cables;
  const Expected<const AlgorithmRow*> algorithm = algorithm_for(cell, request, own);
  if (!algorithm) return fail(algorithm.error());
  // Frames of topk are moved by an allgather, which is not what the cell asks for by name.
  return request.op == *op ? full_name(**algorithm, request) : cell.algorithm;
}

Status order_connects(const Cell& cell, const RankPairs& apart) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  // The ranks of an order of groups are others; these need all pairs anyway.
  if (apart.empty() || !op || !dtype || !cell.split.empty()) return {};
  ScheduleRequest request = schedule_request_of(cell, *op, *dtype);
  request.count = std::max<uint64_t>(request.count, 1);  // of nothing, nobody sends
  if (!find_algorithm(cell.algorithm, request) || request.parameter.order.empty()) return {};
  request.apart = &apart;
  const auto found = find_algorithm(cell.algorithm, request);
  if (!found) return fail(found.error());
  return {};
}

// Two arrays, as often as they take turns.
Expected<uint64_t> memory_of_roof(const Cell& cell, bool /*verified*/,
                                  const OptionSet& /*options*/) {
  const auto slots = static_cast<double>(slots_of(cell, VerifyMode::kNone).ordinary);
  return whole(kOfItself + 2 * slots * static_cast<double>(cell.bytes));
}

Expected<uint64_t> memory_of_links(const Cell& cell, bool /*verified*/,
                                   const OptionSet& /*options*/) {
  // Of bare verbs, a buffer for each direction of each queue pair, and both ways at once twice
  // that.
  const LinkMeasureRow* const measure = find_link_measure(cell.measure);
  const bool verbs = measure != nullptr && measure->verbs;
  const double buffers = verbs ? 4.0 * std::max(1, cell.outstanding) : 0;
  return whole(kOfItself + buffers * static_cast<double>(cell.bytes));
}

Expected<uint64_t> memory_of_operations(const Cell& cell, bool verified, const OptionSet& options) {
  const auto bytes = static_cast<double>(cell.bytes);
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  if (!op || !dtype) return whole(kOfItself);
  const int ranks = group_ranks(cell);
  const Shape shape = shape_of(*op, *dtype, ranks, cell.bytes);
  const auto width = static_cast<double>(size_of(*dtype));
  const auto in = static_cast<double>(shape.in_elems) * width;
  const auto out = static_cast<double>(shape.out_elems) * width;
  const bool in_place = cell.placement == "in" && row(*op).has_in_place;
  const auto slots = static_cast<double>(slots_of(cell, verify_mode(options, verified)).all());
  const double operands =
      slots * (in_place ? std::max(in, out) + kRounded : in + out + 2 * kRounded);
  double scratch = static_cast<double>(ranks) * bytes;
  if (scratch > kSmall) {
    scratch = 0;
    for (const RequestedShare& share : requests_of(cell, *op, *dtype)) {
      const Expected<double> own = scratch_bytes(cell, share.request, options);
      if (!own) return fail(own.error());
      scratch += static_cast<double>(share.times) * *own;
    }
  }
  scratch += static_cast<double>(packed_bytes(cell, *dtype));
  const auto in_flight = static_cast<double>(in_flight_of(cell));
  const double patterns = kPatternsKept * (ranks + 1) * kPatternPeriod * width;
  return whole(kOfItself + operands * (1 + kStepsShare) + in_flight * scratch + patterns +
               sparse_bytes(cell, shape.count, slots, in_flight));
}

std::optional<Floor> floor_of(const Cell& cell, const OptionSet& options, const RankPairs& apart) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  const bool by_messages = row(cell.kind).headline == Headline::kTime;
  if (!by_messages || cell.engine != kNativeEngine || !op || !dtype || cell.ranks < 2) {
    return std::nullopt;
  }
  if (cell.bytes == 0 && *op != Op::kBarrier) return std::nullopt;
  if (cell.bytes > kMostFloorBytes || cell.ranks > kMostFloorRanks) return std::nullopt;
  const std::optional<Traffic> traffic =
      traffic_of(requests_of(cell, *op, *dtype, &apart), cell, options);
  if (!traffic || traffic->empty()) return std::nullopt;
  const uint64_t most =
      std::max_element(traffic->begin(), traffic->end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->second;
  // The answer waits for the question.
  if (*op == Op::kPingpong) return Floor{FloorManner::kRoundTrip, most};
  const bool both = std::any_of(traffic->begin(), traffic->end(), [&](const auto& entry) {
    const auto back = traffic->find({entry.first.second, entry.first.first});
    return entry.second == most && back != traffic->end() && back->second == most;
  });
  return Floor{both ? FloorManner::kBothWays : FloorManner::kOneWay, most};
}

std::optional<OperationCost> operation_cost_of(const Cell& cell, const OptionSet& options,
                                               const RankPairs& apart) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  const bool ours = row(cell.kind).times_operations() && cell.engine == kNativeEngine;
  if (!ours || !op || !dtype || cell.ranks < 2 || cell.ranks > kMostFloorRanks) {
    return std::nullopt;
  }
  if (cell.bytes == 0 && *op != Op::kBarrier) return std::nullopt;
  ScheduleCost all;
  for (const RequestedShare& share : requests_of(cell, *op, *dtype, &apart)) {
    const auto with = add_cost(share, cell, options, all);
    if (!with) return std::nullopt;
    all = *with;
  }
  all.copy_bytes += 2 * packed_bytes(cell, *dtype);  // there and back
  const auto real = [](uint64_t count) { return static_cast<double>(count); };
  return OperationCost{real(all.depth), real(all.send_bytes), real(all.reduce_bytes),
                       real(all.copy_bytes)};
}

int64_t cell_limit_ms(const Cell& cell, const MeasureSettings& settings) {
  int64_t limit =
      kBesideMs + 2 * settings.operation_timeout_ms +
      kTimesMeant * (settings.stop.max_time_ns + settings.throughput_time_ns) / kMillisecond;
  if (settings.tail) limit += kTimesMeant * kTailTimeNs / kMillisecond;
  if (const auto longer = cell_run_of(cell.kind).longer_ms) limit += longer(cell, settings);
  // Each may take until its watchdog bites.
  const double counted =
      counted_operations(settings) * static_cast<double>(settings.operation_timeout_ms);
  return std::min(kMostMs, limit + static_cast<int64_t>(std::min<double>(counted, kMostMs)));
}

std::span<const CellRunRow> cell_run_table() { return kRuns; }

const CellRunRow& cell_run_of(CellKind kind) { return kRuns[static_cast<size_t>(kind)]; }

Expected<Measurement> run_cell(const Cell& cell, const MeasureSettings& settings,
                               const MeasureContext& context) {
  return cell_run_of(cell.kind).run(cell, settings, context);
}

}  // namespace plumbline
