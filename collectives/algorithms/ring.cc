// Ring algorithms: parts travel around the ring of ranks, and every rank forwards what it receives
// while it is still arriving. Reduce-scatter lets each part collect one contribution per hop until
// it reaches its owner; allgather lets each finished part visit everybody; allreduce is one after
// the other, overlapped. Each rank sends 2 (n-1)/n of the array, the least possible (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). With two
// rings each half of the data goes round in its own direction, so that both directions of every
// cable between neighbours carry data both ways.
#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// One of the rings: which share of the data goes round in it, and which way.
struct Ring {
  const ScheduleRequest& q;
  int index = 0, number = 1;

  int step() const { return index % 2 == 0 ? 1 : -1; }
  // So many hops down the ring, negative: up.
  int rank(int hops) const { return wrap(q.rank + step() * hops, q.size); }
  // Messages of a ring are numbered apart from those of the others.
  uint32_t message(int hop) const { return static_cast<uint32_t>(index * 2 * q.size + hop); }
  Range share(const Range& whole) const {
    Range own = even_part(whole.buffer, whole.count, number, index);
    own.begin += whole.begin;
    return own;
  }
};

std::vector<Ring> rings_of(const ScheduleRequest& q) {
  const int number = q.parameter.number == 0 ? 1 : q.parameter.number;
  std::vector<Ring> rings;
  for (int i = 0; i < number; ++i) rings.push_back({q, i, number});
  return rings;
}

// n-1 hops; part p starts at the rank after p and ends, reduced, at rank p. partial(hop, part) says
// where the sum goes that this rank has made of `part` in hop `hop`. Returns the step that
// completes the rank's own part.
template <typename Part, typename Partial>
StepId reduce_scatter_hops(ScheduleBuilder& b, const Ring& ring, Part&& part, Partial&& partial) {
  const int size = ring.q.size, down = ring.rank(1), up = ring.rank(-1);
  b.send(down, ring.message(0), part(up));
  StepId got = kNoStep;
  for (int hop = 0; hop < size - 1; ++hop) {
    const int index = ring.rank(-hop - 2);
    const bool last = hop == size - 2;
    const Range sum = partial(hop, index);
    got = b.recv_reduce(up, ring.message(hop), part(index), sum, last);
    if (!last && got != kNoStep) b.stream(down, ring.message(hop + 1), sum, got);
  }
  return got;
}

// n-1 hops that hand the parts around; messages are numbered from `first`. The own part is sent by
// the caller as message `first`.
template <typename Part>
void allgather_hops(ScheduleBuilder& b, const Ring& ring, int first, Part&& part) {
  const int size = ring.q.size, down = ring.rank(1), up = ring.rank(-1);
  for (int hop = 0; hop < size - 1; ++hop) {
    const Range arriving = part(ring.rank(-hop - 1));
    const StepId got = b.recv(up, ring.message(first + hop), arriving);
    if (hop < size - 2 && got != kNoStep) {
      b.stream(down, ring.message(first + hop + 1), arriving, got);
    }
  }
}

}  // namespace

Schedule build_allreduce_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  for (const Ring& ring : rings_of(q)) {
    const auto part_of = [&](BufferId buffer) {
      return [&q, &ring, buffer](int index) {
        const Range whole = ring.share({buffer, 0, q.count});
        Range part = even_part(buffer, whole.count, q.size, index);
        part.begin += whole.begin;
        return part;
      };
    };
    const auto out = part_of(BufferId::kOut);
    // Partial sums live where the finished part will arrive: it can only come back after they left.
    const StepId own = reduce_scatter_hops(b, ring, part_of(BufferId::kIn),
                                           [&](int, int index) { return out(index); });
    const int first = q.size - 1;
    if (own != kNoStep) b.stream(ring.rank(1), ring.message(first), out(q.rank), own);
    allgather_hops(b, ring, first, out);
  }
  return b.finish();
}

Schedule build_reduce_scatter_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  for (const Ring& ring : rings_of(q)) {
    const Range own = ring.share(ScheduleBuilder::out(0, q.count));
    reduce_scatter_hops(
        b, ring, [&](int index) { return ring.share(block(BufferId::kIn, q.count, index)); },
        [&](int hop, int) { return hop == q.size - 2 ? own : b.scratch(own.count); });
  }
  return b.finish();
}

Schedule build_allgather_ring(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Range own = ScheduleBuilder::in(0, q.count);
  for (const Ring& ring : rings_of(q)) {
    b.send(ring.rank(1), ring.message(0), ring.share(own));
    allgather_hops(b, ring, 0,
                   [&](int index) { return ring.share(block(BufferId::kOut, q.count, index)); });
  }
  b.copy_own(own, block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

}  // namespace plumbline
