#include "reports/link_rings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "core/link.h"
#include "reports/link_thresholds.h"

namespace plumbline {
namespace {

constexpr int kAllOrders = 4;       // so few ranks have few enough orders to list them all
constexpr int kMostPasses = 50;     // of 2-opt over the whole tour
constexpr int kMostStarts = 8;      // of the greedy tour
constexpr int kMostImproved = 128;  // ranks: 2-opt looks at every pair of hops, again and again

double value_at(const LinkValues& values, int from, int to, int ranks) {
  const auto index = pair_index(ranks, from, to);
  if (index >= values.size() || !values[index] || !std::isfinite(*values[index])) return 0;
  return std::max(0.0, *values[index]);
}

// Equal numbers for rates that differ less than the threshold; 0 for a hop that was not measured.
long step_of(double rate) {
  if (rate <= 0) return -1;
  return std::lround(std::log(rate) / std::log1p(threshold(LinkThreshold::kSameHop)));
}

// Larger is better.
auto worth(const RingOrder& ring) {
  return std::tuple(ring.complete, step_of(ring.slowest_Bps), -ring.latency_ns);
}

bool better(const RingOrder& a, const RingOrder& b) { return worth(a) > worth(b); }

std::vector<int> rank_order(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// A reversed ring that begins with rank 0 again.
std::vector<int> reversed(std::vector<int> order) {
  std::reverse(order.begin() + 1, order.end());
  return order;
}

class Search {
 public:
  Search(const LinkValues& rates, const LinkValues& latency, int ranks)
      : rates_(rates), latency_(latency), ranks_(ranks) {}

  RingOrder exact() const {
    std::vector<int> order = rank_order(ranks_);
    RingOrder best = weigh(order);
    while (std::next_permutation(order.begin() + 1, order.end())) {
      const RingOrder ring = weigh(order);
      if (better(ring, best)) best = ring;
    }
    return best;
  }

  RingOrder good() const {
    RingOrder best = improve(weigh(rank_order(ranks_)));
    for (int start = 0; start < std::min(ranks_, kMostStarts); ++start) {
      const RingOrder ring = improve(weigh(greedy(start)));
      if (better(ring, best)) best = ring;
    }
    return best;
  }

 private:
  RingOrder weigh(const std::vector<int>& order) const {
    return weigh_ring(order, rates_, latency_, ranks_);
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
        return std::pair(step_of(value_at(rates_, from, to, ranks_)),
                         -value_at(latency_, from, to, ranks_));
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

  // Reverses stretches as long as that helps.
  RingOrder improve(RingOrder ring) const {
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

RingOrder weigh_ring(const std::vector<int>& order, const LinkValues& rates,
                     const LinkValues& latency, int ranks) {
  RingOrder ring;
  ring.ranks = order;
  ring.complete = true;
  for (size_t i = 0; i < order.size(); ++i) {
    const int from = order[i], to = order[(i + 1) % order.size()];
    const double rate = value_at(rates, from, to, ranks);
    ring.complete = ring.complete && rate > 0;
    ring.latency_ns += value_at(latency, from, to, ranks);
    if (ring.from >= 0 && rate >= ring.slowest_Bps) continue;
    ring.slowest_Bps = rate;
    ring.from = from;
    ring.to = to;
  }
  return ring;
}

RingOrder suggest_ring(const LinkValues& rates, const LinkValues& latency, int ranks) {
  const Search search(rates, latency, ranks);
  RingOrder ring = ranks <= kExactRing ? search.exact() : search.good();
  ring.name = "suggested";
  return ring;
}

std::vector<RingOrder> ring_orders(const LinkValues& rates, const LinkValues& latency, int ranks) {
  std::vector<RingOrder> out;
  const auto add = [&](const char* name, const std::vector<int>& order) {
    for (const RingOrder& known : out) {
      if (known.ranks == order) return;
    }
    out.push_back(weigh_ring(order, rates, latency, ranks));
    out.back().name = name;
  };
  std::vector<int> order = rank_order(ranks);
  add("rank order", order);
  add("reversed", reversed(order));
  while (ranks <= kAllOrders && std::next_permutation(order.begin() + 1, order.end())) {
    add("other", order);
  }
  RingOrder suggested = suggest_ring(rates, latency, ranks);
  const auto known = std::find_if(
      out.begin(), out.end(), [&](const RingOrder& ring) { return ring.ranks == suggested.ranks; });
  if (known == out.end()) {
    out.push_back(std::move(suggested));
  } else {
    known->name += known->name == "other" ? "" : ", ";
    known->name = (known->name == "other" ? "" : known->name) + suggested.name;
  }
  return out;
}

}  // namespace plumbline
