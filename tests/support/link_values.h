// Links of a made-up cluster for tests of ring orders.
#pragma once

#include <cstddef>

#include "core/record/link.h"
#include "core/stats/ring_orders.h"

namespace plumbline::test {

// All links of `ranks` hosts alike.
inline LinkValues full(int ranks, double value) {
  LinkValues values(static_cast<size_t>(ranks * ranks), value);
  for (int i = 0; i < ranks; ++i) values[pair_index(ranks, i, i)].reset();
  return values;
}

inline double& hop(LinkValues& values, int from, int to, int ranks) {
  return *values[pair_index(ranks, from, to)];
}

}  // namespace plumbline::test
