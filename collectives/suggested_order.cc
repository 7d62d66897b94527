#include "collectives/suggested_order.h"

#include <algorithm>
#include <utility>

#include "collectives/predict.h"
#include "collectives/schedule.h"
#include "core/stats/ring_orders.h"

namespace plumbline {
namespace {

// Links of pairs that are apart, and of a rank to itself, have no rate: as if never measured.
LinkValues rates_of(const Topology& topology) {
  LinkValues rates(topology.links.size());
  for (int from = 0; from < topology.ranks(); ++from) {
    for (int to = 0; to < topology.ranks(); ++to) {
      const std::pair<int, int> pair = std::minmax(from, to);
      const bool apart = std::count(topology.apart.begin(), topology.apart.end(), pair) != 0;
      if (from == to || apart) continue;
      const auto at = static_cast<size_t>(&topology.link(from, to) - topology.links.data());
      rates[at] = topology.links[at].bytes_per_s;
    }
  }
  return rates;
}

}  // namespace

void suggest_order(Topology& topology) {
  topology.ring.clear();
  const int ranks = topology.ranks();
  if (!topology.has_rates() || ranks < 2 || ranks > kMostPredictedRanks) return;
  const LinkValues rates = rates_of(topology);
  LinkValues latency;
  for (const LinkModel& link : topology.links) latency.emplace_back(link.alpha_ns);
  const RingOrder usual = weigh_ring(ring_order(ranks, topology.apart), rates, latency, ranks);
  RingOrder suggested = suggest_ring(rates, latency, ranks);
  if (!suggested.complete() || suggested.slowest_Bps <= usual.slowest_Bps * (1 + kLikeHops)) return;
  topology.ring = std::move(suggested.ranks);
}

}  // namespace plumbline
