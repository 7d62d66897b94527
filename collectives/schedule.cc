#include "collectives/schedule.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace plumbline {
namespace {

// (sender, receiver, message number) -> chain length that ends with this message's arrival.
using Arrivals = std::map<std::tuple<int, int, uint32_t>, uint32_t>;

// Walks one rank's steps with what is known of arrivals so far; true when a send's chain grew.
bool relax(const Schedule& schedule, int rank, Arrivals& arrivals, uint32_t& depth) {
  bool grew = false;
  std::vector<uint32_t> chain(schedule.steps.size(), 0);
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    for (uint32_t dep : step.after) chain[i] = std::max(chain[i], chain[dep]);
    if (step.streams_from >= 0) {
      chain[i] = std::max(chain[i], chain[static_cast<size_t>(step.streams_from)]);
    }
    if (step.kind == StepKind::kSend) {
      uint32_t& arrival = arrivals[{rank, step.peer, step.message}];
      grew |= chain[i] + 1 > arrival;
      arrival = std::max(arrival, chain[i] + 1);
    } else if (step.kind == StepKind::kRecv) {
      const auto found = arrivals.find({step.peer, rank, step.message});
      if (found != arrivals.end()) chain[i] = std::max(chain[i], found->second);
    }
    depth = std::max(depth, chain[i]);
  }
  return grew;
}

}  // namespace

bool allows_in_place(Op op) { return !row(op).point_to_point && op != Op::kBarrier; }

BufferLayout layout_of(const ScheduleRequest& q) {
  const uint64_t one = q.count, all = q.count * static_cast<uint64_t>(q.size);
  const auto own = static_cast<int64_t>(q.count) * q.rank;  // where this rank's part begins
  const bool is_root = q.rank == q.root;
  const bool in_pair = q.rank < 2;
  switch (q.op) {
    case Op::kAllreduce:
    case Op::kSendrecv:
      return {one, one, 0};
    case Op::kReduceScatter:
      return {all, one, -own};
    case Op::kAllgather:
      return {one, all, own};
    case Op::kBroadcast:
      return {is_root ? one : 0, one, 0};
    case Op::kReduce:
      return {one, is_root ? one : 0, 0};
    case Op::kGather:
      return {one, is_root ? all : 0, own};
    case Op::kScatter:
      return {is_root ? all : 0, one, is_root ? -own : 0};
    case Op::kAlltoall:
      return {all, all, 0};
    case Op::kBarrier:
      return {};
    case Op::kPingpong:
      return {q.rank == 0 ? one : 0, in_pair ? one : 0, 0};
    case Op::kStream:
      return {q.rank == 0 ? one : 0, q.rank == 1 ? one : 0, 0};
    case Op::kBidirectional:
      return {in_pair ? one : 0, in_pair ? one : 0, 0};
  }
  return {};
}

ScheduleCost cost_of(const Schedule& schedule, size_t elem_size) {
  ScheduleCost cost;
  for (const Step& step : schedule.steps) {
    const bool reduces = step.action == Action::kReduce || step.action == Action::kReduceScale;
    const uint64_t bytes = step.dst.count * elem_size;
    if (step.kind == StepKind::kSend) {
      ++cost.sends;
      cost.send_bytes += step.source.count * elem_size;
      continue;
    }
    if (step.kind == StepKind::kRecv) {
      ++cost.recvs;
      cost.recv_bytes += bytes;
    }
    if (reduces) {
      cost.reduce_bytes += bytes;
    } else if (step.kind == StepKind::kLocal) {
      cost.copy_bytes += bytes;
    }
  }
  return cost;
}

ScheduleCost cost_of(const AlgorithmRow& algorithm, const ScheduleRequest& request) {
  std::vector<Schedule> all;
  for (int rank = 0; rank < request.size; ++rank) {
    ScheduleRequest q = request;
    q.rank = rank;
    all.push_back(algorithm.build(q));
  }
  ScheduleCost cost = cost_of(all[static_cast<size_t>(request.rank)], request.elem_size);
  Arrivals arrivals;
  bool grew = true;
  // Every round extends each chain by at least one message; a chain longer than all messages
  // together would be a cycle, which check_schedule reports.
  uint64_t rounds_left = 1;
  for (const Schedule& schedule : all) rounds_left += schedule.steps.size();
  while (grew && rounds_left-- > 0) {
    grew = false;
    for (int rank = 0; rank < request.size; ++rank) {
      grew |= relax(all[static_cast<size_t>(rank)], rank, arrivals, cost.depth);
    }
  }
  return cost;
}

}  // namespace plumbline
