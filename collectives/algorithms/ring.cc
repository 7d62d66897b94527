// Ring algorithms: parts travel around the ring of ranks, and every rank forwards what it receives
// while it is still arriving. Reduce-scatter lets each part collect one contribution per hop until
// it reaches its owner; allgather lets each finished part visit everybody; allreduce is one after
// the other, overlapped. Each rank sends 2 (n-1)/n of the array, the least possible (Patarasuk and
// Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). With two
// rings each half of the data goes round in its own direction, so that both directions of every
// cable between neighbours carry data both ways. Ranks stand in the order of their numbers, or,
// where neighbours would not be connected, in one in which they are (ring_order), or in the one
// that was asked for.
#include <algorithm>
#include <numeric>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// Steps of a search for a ring. Clusters wired by hand, a ring among other cables, need some
// hundred; whether any graph has one is NP-complete (R. Karp, 1972), so that there must be an end.
constexpr int kMostSteps = 4000;

// Extends a path of connected ranks that starts at rank 0 until it is a ring of all.
class RingSearch {
 public:
  RingSearch(int size, const RankPairs& apart)
      : size_(static_cast<size_t>(size)), joined_(size_ * size_, 1), used_(size_, 0), order_{0} {
    for (const auto& [a, b] : apart) {
      if (std::max(a, b) < size) joined(a, b) = joined(b, a) = 0;
    }
    used_[0] = 1;
  }

  bool connected(int a, int b) const {
    return joined_[static_cast<size_t>(a) * size_ + static_cast<size_t>(b)] != 0;
  }
  bool find() {
    if (order_.size() == size_) return connected(order_.back(), order_.front());
    for (const int next : next_ranks()) {
      if (++steps_ > kMostSteps) return false;
      used_[static_cast<size_t>(next)] = 1;
      order_.push_back(next);
      if (find()) return true;
      order_.pop_back();
      used_[static_cast<size_t>(next)] = 0;
    }
    return false;
  }
  const std::vector<int>& order() const { return order_; }

 private:
  char& joined(int a, int b) {
    return joined_[static_cast<size_t>(a) * size_ + static_cast<size_t>(b)];
  }
  std::vector<int> free_neighbours(int rank) const {
    std::vector<int> found;
    for (int other = 0; other < static_cast<int>(size_); ++other) {
      if (other != rank && used_[static_cast<size_t>(other)] == 0 && connected(rank, other)) {
        found.push_back(other);
      }
    }
    return found;
  }
  // Where the path may go on, those with the fewest ways out first: what is passed by can hardly be
  // reached later (H. Warnsdorff's rule for a knight's tour, 1823).
  std::vector<int> next_ranks() const {
    std::vector<int> next = free_neighbours(order_.back());
    std::stable_sort(next.begin(), next.end(), [this](int a, int b) {
      return free_neighbours(a).size() < free_neighbours(b).size();
    });
    return next;
  }

  const size_t size_;
  std::vector<char> joined_, used_;
  std::vector<int> order_;
  int steps_ = 0;
};

// One of the rings: which share of the data goes round in it, and which way.
struct Ring {
  const ScheduleRequest& q;
  const std::vector<int> order;
  const int place;  // of this rank
  int index = 0, number = 1;

  int step() const { return index % 2 == 0 ? 1 : -1; }
  // So many hops down the ring, negative: up.
  int rank(int hops) const {
    return order[static_cast<size_t>(wrap(place + step() * hops, q.size))];
  }
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
  const std::vector<int>& asked = q.parameter.order;
  const std::vector<int> order = asked.empty() ? ring_order(q.size, apart_of(q)) : asked;
  const auto place = std::find(order.begin(), order.end(), q.rank) - order.begin();
  std::vector<Ring> rings;
  for (int i = 0; i < number; ++i) rings.push_back({q, order, static_cast<int>(place), i, number});
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

std::vector<int> ring_order(int size, const RankPairs& apart) {
  std::vector<int> by_number(static_cast<size_t>(size));
  std::iota(by_number.begin(), by_number.end(), 0);
  if (apart.empty()) return by_number;
  RingSearch search(size, apart);
  for (int rank = 0; rank < size; ++rank) {
    if (!search.connected(rank, (rank + 1) % size)) {
      return search.find() ? search.order() : by_number;
    }
  }
  return by_number;
}

}  // namespace plumbline
