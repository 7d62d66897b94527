#include "collectives/floor_of.h"

#include <algorithm>
#include <limits>
#include <map>

#include "collectives/schedule.h"

namespace plumbline {
namespace {

// What a message without data takes: its header is larger than this.
constexpr uint64_t kLeastMessage = 8;

// Bytes from one rank to another, by (from, to).
using Traffic = std::map<std::pair<int, int>, uint64_t>;

std::optional<Traffic> traffic_of(ScheduleRequest request, const Cell& cell,
                                  const OptionSet& options) {
  const auto small = static_cast<uint64_t>(options.integer("small_msg_threshold"));
  const auto algorithm = find_algorithm(cell.algorithm, request, small);
  if (!algorithm) return std::nullopt;
  Traffic traffic;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    for (const Step& step : (*algorithm)->build(request).steps) {
      if (step.kind != StepKind::kSend) continue;
      traffic[{request.rank, step.peer}] +=
          std::max(kLeastMessage, step.source.count * request.elem_size);
    }
  }
  return traffic;
}

}  // namespace

std::optional<Floor> floor_of(const Cell& cell, const OptionSet& options) {
  const auto op = op_from(cell.op);
  const auto dtype = dtype_from(cell.dtype);
  const bool by_messages = row(cell.kind).headline == Headline::kTime;
  if (!by_messages || cell.engine != kNativeEngine || !op || !dtype || cell.ranks < 2) {
    return std::nullopt;
  }
  if (cell.bytes == 0 && *op != Op::kBarrier) return std::nullopt;
  if (cell.bytes > kMostFloorBytes || cell.ranks > kMostFloorRanks) return std::nullopt;
  ScheduleRequest request;
  request.op = *op;
  request.redop = redop_from(cell.redop).value_or(RedOp::kSum);
  request.size = cell.ranks;
  request.root = std::clamp(cell.root, 0, cell.ranks - 1);
  request.count = shape_of(*op, *dtype, cell.ranks, cell.bytes).count;
  request.elem_size = size_of(*dtype);
  request.in_place = cell.placement == "in" && row(*op).has_in_place;
  request.segment_bytes = std::numeric_limits<uint64_t>::max();
  const std::optional<Traffic> traffic = traffic_of(request, cell, options);
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

}  // namespace plumbline
