// What is known of the ways between the ranks of a world, as far as the choice of an algorithm
// depends on it: who shares a host, who is connected, and how fast. The rates are those of a model
// with few numbers (predict.h), found by measuring (fit_model.h) and kept by `plumbline tune`.
// Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/op.h"

namespace plumbline {

// One direction between two ranks: a message of m bytes takes alpha_ns + m / bytes_per_s (R.
// Hockney, The communication challenge for MPP: Intel Paragon and Meiko CS-2, 1994).
struct LinkModel {
  double alpha_ns = 0;
  double bytes_per_s = 0;  // beta
};

// Pairs of ranks, lower first.
using RankPairs = std::vector<std::pair<int, int>>;

struct Topology {
  std::vector<int> host_of;  // of each rank: the number of its host
  RankPairs apart;           // pairs of ranks that are not connected
  // [from * ranks + to]; the diagonal means nothing. Empty = only who is where is known.
  std::vector<LinkModel> links;
  // A rank's own time for each message that it sends or receives, part of alpha (o of LogP: Culler
  // et al., LogP: towards a realistic model of parallel computation, 1993).
  double message_ns = 0;
  double port_bytes_per_s = 0;    // one direction, over all links of a rank together
  double rank_bytes_per_s = 0;    // both directions together: what the rank's thread can move
  double reduce_bytes_per_s = 0;  // gamma: reductions and copies
  // The ranks in an order in which the slowest hop of a ring is clearly faster than in the usual
  // one (suggested_order.h); empty = there is none.
  std::vector<int> ring = {};

  int ranks() const { return static_cast<int>(host_of.size()); }
  bool has_rates() const { return !links.empty(); }
  const LinkModel& link(int from, int to) const {
    return links[static_cast<size_t>(from) * host_of.size() + static_cast<size_t>(to)];
  }
};

// For which sizes of an operation an algorithm was found best. S of core/op.h, in bytes.
struct TunedRange {
  Op op = Op::kAllreduce;
  uint64_t from_bytes = 0, to_bytes = 0;  // both belong to it
  std::string algorithm;                  // NAME or NAME:PARAMETER
};

}  // namespace plumbline
