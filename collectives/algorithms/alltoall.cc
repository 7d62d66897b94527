// Alltoall in an order: a window of exchanges at a time, so that no rank is flooded by all others;
// and in log2(n) rounds, for parts so small that messages cost more than bytes.
#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// Bruck: the parts by how many ranks further they have to go, and where each lies now.
struct Travelling {
  Range at;
  StepId step = kNoStep;  // that put it there
};

}  // namespace

// In hop k every rank sends to the rank k further and receives from the one k before; a hop begins
// when the one a window before it has ended.
Schedule build_alltoall_pairwise(const ScheduleRequest& q) {
  constexpr int kUsual = 4;
  ScheduleBuilder b(q);
  const int window = q.parameter.number == 0 ? kUsual : q.parameter.number;
  const auto hops = static_cast<size_t>(q.size);
  std::vector<StepId> sent(hops, kNoStep), got(hops, kNoStep);
  std::vector<Range> parked(hops);
  for (int hop = 1; hop < q.size; ++hop) {
    const auto at = static_cast<size_t>(hop);
    const int to = wrap(q.rank + hop, q.size), from = wrap(q.rank - hop, q.size);
    std::vector<StepId> before;
    if (hop > window) {
      const auto ended = static_cast<size_t>(hop - window);
      before = {sent[ended], got[ended]};
    }
    sent[at] = b.send(to, 0, block(BufferId::kIn, q.count, to), before);
    // In place the part for a rank lies where the part of that rank goes.
    parked[at] = q.in_place ? b.scratch(q.count) : block(BufferId::kOut, q.count, from);
    got[at] = b.recv(from, 0, parked[at], before);
  }
  for (int hop = 1; q.in_place && hop < q.size; ++hop) {
    const auto at = static_cast<size_t>(hop), back = static_cast<size_t>(q.size - hop);
    const Range place = block(BufferId::kOut, q.count, wrap(q.rank - hop, q.size));
    b.copy(parked[at], place, {got[at], sent[back]});
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

// In round k a part that still has to go a number of ranks with bit k set goes 2^k of them,
// together with all such parts: ceil(log2 n) messages, each of about half of all parts (Bruck, Ho,
// Kipnis, Upfal and Weathersby, 1997).
Schedule build_alltoall_bruck(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  std::vector<Travelling> parts;
  std::vector<StepId> left(static_cast<size_t>(q.size), kNoStep);  // read of the input, by distance
  for (int distance = 0; distance < q.size; ++distance) {
    parts.push_back({block(BufferId::kIn, q.count, wrap(q.rank + distance, q.size))});
  }
  uint32_t round = 0;
  for (int bit = 1; bit < q.size; bit *= 2, ++round) {
    std::vector<size_t> travelling;
    for (int distance = bit; distance < q.size; ++distance) {
      if ((distance & bit) != 0) travelling.push_back(static_cast<size_t>(distance));
    }
    const uint64_t number = travelling.size();
    Range packed = parts[travelling[0]].at;
    std::vector<StepId> ready = {parts[travelling[0]].step};
    if (number > 1) {
      packed = b.scratch(number * q.count);
      ready.clear();
      for (size_t i = 0; i < number; ++i) {
        const Range place{packed.buffer, packed.begin + i * q.count, q.count};
        ready.push_back(b.copy(parts[travelling[i]].at, place, {parts[travelling[i]].step}));
        if (parts[travelling[i]].step == kNoStep) left[travelling[i]] = ready.back();
      }
    }
    const StepId sent = b.send(wrap(q.rank + bit, q.size), round, packed, ready);
    if (number == 1 && ready[0] == kNoStep) left[travelling[0]] = sent;
    const Range arrived = b.scratch(number * q.count);
    const StepId got = b.recv(wrap(q.rank - bit, q.size), round, arrived);
    for (size_t i = 0; i < number; ++i) {
      parts[travelling[i]] = {{arrived.buffer, arrived.begin + i * q.count, q.count}, got};
    }
  }
  for (int distance = 1; distance < q.size; ++distance) {
    const Travelling& part = parts[static_cast<size_t>(distance)];
    // In place the part that went there from here has to have left.
    const StepId gone = q.in_place ? left[static_cast<size_t>(q.size - distance)] : kNoStep;
    b.copy(part.at, block(BufferId::kOut, q.count, wrap(q.rank - distance, q.size)),
           {part.step, gone});
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

}  // namespace plumbline
