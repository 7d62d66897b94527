#include "collectives/schedule.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collectives/schedule_builder.h"

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
      cost.send_bytes += step.source.count * wire_size(step, elem_size);
      continue;
    }
    if (step.kind == StepKind::kRecv) {
      ++cost.recvs;
      cost.recv_bytes += step.dst.count * wire_size(step, elem_size);
    }
    if (reduces) {
      cost.reduce_bytes += bytes * (1 + step.more.size());
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
    all.push_back(build_schedule(algorithm, q));
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

const RankPairs& apart_of(const ScheduleRequest& request) {
  static const RankPairs kNone;
  if (request.apart != nullptr) return *request.apart;
  return request.topology != nullptr ? request.topology->apart : kNone;
}

Range ScheduleBuilder::scratch(uint64_t count) {
  const Range range{BufferId::kScratch, schedule_.scratch_elems, count};
  schedule_.scratch_elems += count;
  return range;
}

StepId ScheduleBuilder::add(Step step, const std::vector<StepId>& after) {
  for (StepId id : after) {
    if (id != kNoStep) step.after.push_back(static_cast<uint32_t>(id));
  }
  schedule_.steps.push_back(std::move(step));
  return static_cast<StepId>(schedule_.steps.size() - 1);
}

StepId ScheduleBuilder::send(int peer, uint32_t message, Range source,
                             const std::vector<StepId>& after) {
  if (source.count == 0) return kNoStep;
  return add({.kind = StepKind::kSend, .peer = peer, .message = message, .source = source}, after);
}

StepId ScheduleBuilder::stream(int peer, uint32_t message, Range source, StepId from) {
  const StepId id = send(peer, message, source);
  if (id != kNoStep) schedule_.steps.back().streams_from = from;
  return id;
}

StepId ScheduleBuilder::recv(int peer, uint32_t message, Range dst,
                             const std::vector<StepId>& after) {
  if (dst.count == 0) return kNoStep;
  return add({.kind = StepKind::kRecv, .peer = peer, .message = message, .dst = dst}, after);
}

StepId ScheduleBuilder::recv_reduce(int peer, uint32_t message, Range operand, Range dst, bool last,
                                    const std::vector<StepId>& after) {
  const StepId id = recv(peer, message, dst, after);
  if (id == kNoStep) return id;
  schedule_.steps.back().action = reduction(last);
  schedule_.steps.back().operand = operand;
  return id;
}

StepId ScheduleBuilder::reduce(Range first, Range second, Range dst, bool last,
                               const std::vector<StepId>& after) {
  const StepId id = copy(second, dst, after);
  if (id == kNoStep) return id;
  schedule_.steps.back().action = reduction(last);
  schedule_.steps.back().operand = first;
  return id;
}

StepId ScheduleBuilder::reduce_all(const std::vector<Range>& parts, Range dst, bool last,
                                   const std::vector<StepId>& after) {
  if (request_.codec.halves()) return reduce_pairs(parts, dst, last, after);
  const StepId id = reduce(parts[0], parts[1], dst, last, after);
  if (id != kNoStep) schedule_.steps.back().more.assign(parts.begin() + 2, parts.end());
  return id;
}

// Each sum of two may have to be rounded.
StepId ScheduleBuilder::reduce_pairs(const std::vector<Range>& parts, Range dst, bool last,
                                     const std::vector<StepId>& after) {
  // The result may lie where a part does, so that it is written last.
  const Range sum = parts.size() > 2 ? scratch(dst.count) : dst;
  StepId reduced = kNoStep;
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool ends = i + 1 == parts.size();
    std::vector<StepId> before = after;
    before.push_back(reduced);
    reduced = reduce(i == 1 ? parts[0] : sum, parts[i], ends ? dst : sum, last && ends, before);
  }
  return reduced;
}

StepId ScheduleBuilder::copy(Range source, Range dst, const std::vector<StepId>& after) {
  if (dst.count == 0) return kNoStep;
  return add({.kind = StepKind::kLocal, .source = source, .dst = dst}, after);
}

void ScheduleBuilder::send_token(int peer, uint32_t message, const std::vector<StepId>& after) {
  add({.kind = StepKind::kSend, .peer = peer, .message = message}, after);
}

StepId ScheduleBuilder::recv_token(int peer, uint32_t message) {
  return add({.kind = StepKind::kRecv, .peer = peer, .message = message}, {});
}

Range even_part(BufferId buffer, uint64_t count, int parts, int index) {
  const auto n = static_cast<uint64_t>(parts);
  const auto i = static_cast<uint64_t>(index);
  const uint64_t share = count / n, rest = count % n;  // the first `rest` parts get one more
  const uint64_t begin = i * share + (i < rest ? i : rest);
  return {buffer, begin, share + (i < rest ? 1 : 0)};
}

Schedule copy_only(const ScheduleRequest& request) {
  ScheduleBuilder b(request);
  const uint64_t count = layout_of(request).out_elems;
  b.copy_own(ScheduleBuilder::in(0, count), ScheduleBuilder::out(0, count));
  return b.finish();
}

}  // namespace plumbline
