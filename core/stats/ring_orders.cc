#include "core/stats/ring_orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/record/link.h"

namespace plumbline {
namespace {

constexpr int kMostPasses = 50;     // of 2-opt over the whole tour
constexpr int kMostStarts = 8;      // of the greedy tour
constexpr int kMostImproved = 128;  // ranks: 2-opt looks at every pair of hops, again and again

double value_at(const LinkValues& values, int from, int to, int ranks) {
  const auto index = pair_index(ranks, from, to);
  if (index >= values.size() || !values[index] || !std::isfinite(*values[index])) return 0;
  return std::max(0.0, *values[index]);
}

// What counts before the round trips: hops that were measured, then the slowest of those.
auto pace(const RingOrder& ring) { return std::pair(-ring.unmeasured, ring.slowest_measured_Bps); }

// The least that an order must be worth before its round trips count: as many hops measured as in
// the fastest order, and the slowest of them as fast as there, within the threshold, and never
// slower than in rank order.
struct Bar {
  int unmeasured = 0;
  double slowest_Bps = 0;

  bool holds(const RingOrder& ring) const {
    return ring.unmeasured == unmeasured && ring.slowest_measured_Bps >= slowest_Bps;
  }
};

Bar bar_of(const RingOrder& fastest, const RingOrder& ranks) {
  const double step = 1 + kLikeHops;
  const double like = fastest.slowest_measured_Bps / step, before = ranks.slowest_measured_Bps;
  if (ranks.unmeasured > fastest.unmeasured) return {fastest.unmeasured, like};
  // Where rank order is slower than the best by more than the threshold, so must be what is
  // suggested in its place: faster by that much.
  return {fastest.unmeasured, before >= like ? before : std::max(like, before * step)};
}

bool nearer(const RingOrder& a, const RingOrder& b) {
  return a.latency_ns > 0 && (b.latency_ns <= 0 || a.latency_ns < b.latency_ns);
}

auto nearer_over(const Bar& bar) {
  return [bar](const RingOrder& a, const RingOrder& b) { return bar.holds(a) && nearer(a, b); };
}

class Search {
 public:
  Search(const LinkValues& rates, const LinkValues& latency, int ranks)
      : rates_(rates), latency_(latency), ranks_(ranks) {}

  RingOrder suggested() const {
    const RingOrder ranks = weigh(rank_order(ranks_));
    const bool all = ranks_ <= kExactRing;
    const RingOrder fastest = all ? fastest_of_all(ranks) : fastest_found(ranks);
    const Bar bar = bar_of(fastest, ranks);
    RingOrder best = all ? nearest_of_all(fastest, bar) : improve(fastest, nearer_over(bar));
    if (!bar.holds(ranks)) return best;
    if (!all) best = std::min(best, improve(ranks, nearer_over(bar)), nearer);
    // Rank order costs nobody anything: it stays unless the other is nearer by more than noise.
    RingOrder least = ranks;
    least.latency_ns /= 1 + kLikeHops;
    return nearer(best, least) ? best : ranks;
  }

 private:
  RingOrder weigh(const std::vector<int>& order) const {
    return weigh_ring(order, rates_, latency_, ranks_);
  }

  template <typename Visit>
  void each_order(const Visit& visit) const {
    std::vector<int> order = rank_order(ranks_);
    while (std::next_permutation(order.begin() + 1, order.end())) visit(weigh(order));
  }

  RingOrder fastest_of_all(RingOrder best) const {
    each_order([&](const RingOrder& ring) {
      if (pace(ring) > pace(best)) best = ring;
    });
    return best;
  }

  RingOrder nearest_of_all(RingOrder best, const Bar& bar) const {
    each_order([&](const RingOrder& ring) {
      if (bar.holds(ring) && nearer(ring, best)) best = ring;
    });
    return best;
  }

  RingOrder fastest_found(const RingOrder& ranks) const {
    const auto faster = [](const RingOrder& a, const RingOrder& b) {
      return pace(a) > pace(b) || (pace(a) == pace(b) && nearer(a, b));
    };
    RingOrder best = improve(ranks, faster);
    for (int start = 0; start < std::min(ranks_, kMostStarts); ++start) {
      const RingOrder ring = improve(weigh(greedy(start)), faster);
      if (faster(ring, best)) best = ring;
    }
    return best;
  }

  // Always to the unvisited rank with the fastest link, then the nearest.
  std::vector<int> greedy(int start) const {
    std::vector<int> order = {start};
    std::vector<bool> visited(static_cast<size_t>(ranks_), false);
    visited[static_cast<size_t>(start)] = true;
    while (order.size() < static_cast<size_t>(ranks_)) {
      const int from = order.back();
      int best = -1;
      const auto key = [&](int to) {
        return std::pair(value_at(rates_, from, to, ranks_), -value_at(latency_, from, to, ranks_));
      };
      for (int to = 0; to < ranks_; ++to) {
        if (visited[static_cast<size_t>(to)]) continue;
        if (best < 0 || key(to) > key(best)) best = to;
      }
      visited[static_cast<size_t>(best)] = true;
      order.push_back(best);
    }
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    return order;
  }

  // Reverses stretches as long as that makes the order better.
  template <typename Better>
  RingOrder improve(RingOrder ring, const Better& better) const {
    for (int pass = 0; pass < kMostPasses && ranks_ <= kMostImproved; ++pass) {
      bool improved = false;
      for (size_t i = 1; i + 1 < ring.ranks.size(); ++i) {
        for (size_t j = i + 1; j < ring.ranks.size(); ++j) {
          std::vector<int> order = ring.ranks;
          std::reverse(order.begin() + static_cast<std::ptrdiff_t>(i),
                       order.begin() + static_cast<std::ptrdiff_t>(j) + 1);
          RingOrder changed = weigh(order);
          if (!better(changed, ring)) continue;
          ring = std::move(changed);
          improved = true;
        }
      }
      if (!improved) break;
    }
    return ring;
  }

  const LinkValues& rates_;
  const LinkValues& latency_;
  const int ranks_;
};

}  // namespace

std::vector<int> rank_order(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

RingOrder weigh_ring(const std::vector<int>& order, const LinkValues& rates,
                     const LinkValues& latency, int ranks) {
  RingOrder ring;
  ring.ranks = order;
  bool trips = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const int from = order[i], to = order[(i + 1) % order.size()];
    const double rate = value_at(rates, from, to, ranks);
    const double trip = value_at(latency, from, to, ranks);
    trips = trips && trip > 0;
    ring.latency_ns += trip;
    ring.unmeasured += rate > 0 ? 0 : 1;
    if (rate > 0 && (ring.slowest_measured_Bps <= 0 || rate < ring.slowest_measured_Bps))
      ring.slowest_measured_Bps = rate;
    if (ring.from >= 0 && rate >= ring.slowest_Bps) continue;
    ring.slowest_Bps = rate;
    ring.from = from;
    ring.to = to;
  }
  if (!trips) ring.latency_ns = 0;
  return ring;
}

RingOrder suggest_ring(const LinkValues& rates, const LinkValues& latency, int ranks) {
  RingOrder ring = Search(rates, latency, ranks).suggested();
  ring.name = "suggested";
  return ring;
}

}  // namespace plumbline
