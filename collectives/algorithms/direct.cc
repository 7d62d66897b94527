// Algorithms that are one or two messages deep, straight between those concerned.
#include <algorithm>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// One segment of this rank's own part: a receive from everybody, then the sum in rank order.
void reduce_segment(ScheduleBuilder& b, const ScheduleRequest& q, uint32_t message, uint64_t begin,
                    uint64_t count) {
  std::vector<Range> parts;
  std::vector<StepId> got;
  for (int from = 0; from < q.size; ++from) {
    const bool own = from == q.rank;
    parts.push_back(own ? ScheduleBuilder::in(q.count * static_cast<uint64_t>(from) + begin, count)
                        : b.scratch(count));
    got.push_back(own ? kNoStep : b.recv(from, message, parts.back()));
  }
  b.reduce_all(parts, ScheduleBuilder::out(begin, count), true, got);
}

StepId send_any(ScheduleBuilder& b, int peer, const Range& source, StepId after = kNoStep) {
  if (source.count > 0) return b.send(peer, 0, source, {after});
  b.send_token(peer, 0, {after});
  return kNoStep;
}

StepId recv_any(ScheduleBuilder& b, int peer, const Range& dst) {
  return dst.count > 0 ? b.recv(peer, 0, dst) : b.recv_token(peer, 0);
}

}  // namespace

// Gather, scatter and alltoall in one message per part, straight from its owner to where it
// belongs.
Schedule build_gather_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  if (q.rank != q.root) {
    b.send(q.root, 0, own);
    return b.finish();
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int from = wrap(q.rank + hop, q.size);
    b.recv(from, 0, block(BufferId::kOut, q.count, from));
  }
  b.copy_own(own, block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

Schedule build_scatter_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::out(0, q.count);
  if (q.rank != q.root) {
    b.recv(q.root, 0, own);
    return b.finish();
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    b.send(to, 0, block(BufferId::kIn, q.count, to));
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), own);
  return b.finish();
}

Schedule build_allgather_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  for (int hop = 1; hop < q.size; ++hop) b.send(wrap(q.rank + hop, q.size), 0, own);
  for (int hop = 1; hop < q.size; ++hop) {
    const int from = wrap(q.rank - hop, q.size);
    b.recv(from, 0, block(BufferId::kOut, q.count, from));
  }
  b.copy_own(own, block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

// In hop k every rank sends to the rank k further and receives from the one k before, so that no
// rank is everybody's target at once.
Schedule build_alltoall_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  std::vector<StepId> sent(static_cast<size_t>(q.size), kNoStep);
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    sent[static_cast<size_t>(to)] = b.send(to, 0, block(BufferId::kIn, q.count, to));
  }
  for (int hop = 1; hop < q.size; ++hop) {
    const int from = wrap(q.rank - hop, q.size);
    const Range dst = block(BufferId::kOut, q.count, from);
    if (!q.in_place) {
      b.recv(from, 0, dst);
      continue;
    }
    // In place the part for `from` lies where the part of `from` goes.
    const Range parked = b.scratch(q.count);
    const StepId got = b.recv(from, 0, parked);
    b.copy(parked, dst, {got, sent[static_cast<size_t>(from)]});
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

// Every rank sends every other rank its part at once; the owner reduces the arriving parts in rank
// order, segment by segment while they are in cache. One message deep and the same result for every
// arrival order, at the price of scratch for n-1 parts.
Schedule build_reduce_scatter_direct(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const uint64_t segment = std::max<uint64_t>(1, q.segment_bytes / q.elem_size);
  uint32_t message = 0;
  for (uint64_t begin = 0; begin < q.count; begin += segment, ++message) {
    const uint64_t count = std::min(segment, q.count - begin);
    for (int hop = 1; hop < q.size; ++hop) {
      const int to = wrap(q.rank + hop, q.size);
      b.send(to, message, ScheduleBuilder::in(q.count * static_cast<uint64_t>(to) + begin, count));
    }
    reduce_segment(b, q, message, begin, count);
  }
  return b.finish();
}

// Two ranks exchange their whole arrays and both compute rank 0 (op) rank 1: one message each way,
// identical bits. Twice the bytes of the ring, half its messages.
Schedule build_allreduce_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range theirs = b.scratch(q.count);
  const int peer = 1 - q.rank;
  const StepId sent = b.send(peer, 0, mine);
  const StepId got = b.recv(peer, 0, theirs);
  const bool first = q.rank == 0;
  // In place the result overwrites what is being sent.
  b.reduce(first ? mine : theirs, first ? theirs : mine, ScheduleBuilder::out(0, q.count), true,
           {got, q.in_place ? sent : kNoStep});
  return b.finish();
}

// All arrays to rank 0, which reduces them in rank order and sends the result to everybody: two
// messages deep for any number of ranks, but rank 0 moves all bytes.
Schedule build_allreduce_gather_reduce(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  if (q.rank != 0) {
    b.send(0, 0, mine);
    b.recv(0, 0, result);
    return b.finish();
  }
  std::vector<StepId> got;
  std::vector<Range> parts = {mine};
  for (int peer = 1; peer < q.size; ++peer) {
    parts.push_back(b.scratch(q.count));
    got.push_back(b.recv(peer, 0, parts.back()));
  }
  const StepId reduced = b.reduce_all(parts, result, true, got);
  for (int peer = 1; peer < q.size; ++peer) b.send(peer, 0, result, {reduced});
  return b.finish();
}

// The same with one message under way at a time: rank 0 takes the arrays of the others one after
// another, and hands out the result so too.
Schedule build_allreduce_serial_star(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  if (q.rank != 0) {
    b.send(0, 0, mine);
    b.recv(0, 1, result);
    return b.finish();
  }
  StepId last = kNoStep;
  for (int peer = 1; peer < q.size; ++peer) {
    last = b.recv_reduce(peer, 0, peer == 1 ? mine : result, result, peer + 1 == q.size, {last});
  }
  for (int peer = 1; peer < q.size; ++peer) last = b.send(peer, 1, result, {last});
  return b.finish();
}

// The point-to-point patterns as schedules, so that they take the same path as the collectives. An
// empty array still travels: its message is the latency floor.
Schedule build_pingpong_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Range in = ScheduleBuilder::in(0, q.count), out = ScheduleBuilder::out(0, q.count);
  if (q.rank == 0) {
    send_any(b, 1, in);
    recv_any(b, 1, out);
  } else if (q.rank == 1) {
    send_any(b, 0, out, recv_any(b, 0, out));
  }
  return b.finish();
}

Schedule build_stream_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  if (q.rank == 0) {
    send_any(b, 1, ScheduleBuilder::in(0, q.count));
    b.recv_token(1, 0);
  } else if (q.rank == 1) {
    b.send_token(0, 0, {recv_any(b, 0, ScheduleBuilder::out(0, q.count))});
  }
  return b.finish();
}

Schedule build_bidirectional_direct(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  if (q.rank < 2) {
    send_any(b, 1 - q.rank, ScheduleBuilder::in(0, q.count));
    recv_any(b, 1 - q.rank, ScheduleBuilder::out(0, q.count));
  }
  return b.finish();
}

Schedule build_sendrecv_direct(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  send_any(b, wrap(q.rank + 1, q.size), ScheduleBuilder::in(0, q.count));
  recv_any(b, wrap(q.rank - 1, q.size), ScheduleBuilder::out(0, q.count));
  return b.finish();
}

}  // namespace plumbline
