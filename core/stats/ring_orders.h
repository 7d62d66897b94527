// Orders of a ring over measured links, for the report of a link matrix and for the algorithm
// `ring` over tuned links. A ring is as fast as its slowest hop, so the best order has the fastest
// slowest hop (a bottleneck travelling-salesman tour) and, among those that are equally fast within
// some percent, the least sum of round trips. Rank order is suggested where nothing is better than
// it by more than these percent, and never anything with a slower hop than it has. Exact up to 9
// hosts by trying all orders; beyond, greedy tours from several starts improved by 2-opt moves
// (Croes, Operations Research 6, 1958), which is good but not proven best. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plumbline {

using LinkValues = std::vector<std::optional<double>>;  // [from * ranks + to]

struct RingOrder {
  std::string name;        // "rank order", "suggested"
  std::vector<int> ranks;  // each sends to the next one, the last to the first
  int unmeasured = 0;      // hops
  double slowest_Bps = 0;  // of the hop from -> to; 0 where it was not measured
  int from = -1, to = -1;
  double slowest_measured_Bps = 0;  // of the hops that were
  double latency_ns = 0;  // sum of the hops' round trips; 0 = one of them was not measured

  bool complete() const { return unmeasured == 0; }
};

inline constexpr int kExactRing = 9;  // hosts
// Hops that differ less, as a fraction, are equally fast: then latency decides.
inline constexpr double kLikeHops = 0.05;

// 0, 1, .. ranks-1.
std::vector<int> rank_order(int ranks);

// What an order is worth. `latency` may be empty.
RingOrder weigh_ring(const std::vector<int>& order, const LinkValues& rates,
                     const LinkValues& latency, int ranks);
// The best order found; begins with rank 0. Needs at least two ranks. Never has more hops that were
// not measured than rank order, nor, with as many, a slower one among those that were.
RingOrder suggest_ring(const LinkValues& rates, const LinkValues& latency, int ranks);

}  // namespace plumbline
