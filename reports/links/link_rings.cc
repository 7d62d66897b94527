// The orders of a ring that the report of a link matrix shows.
#include <algorithm>
#include <utility>

#include "reports/links/link_outliers.h"

namespace plumbline {
namespace {

constexpr int kAllOrders = 4;  // so few ranks have few enough orders to list them all

// A reversed ring that begins with rank 0 again.
std::vector<int> reversed(std::vector<int> order) {
  std::reverse(order.begin() + 1, order.end());
  return order;
}

}  // namespace

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
