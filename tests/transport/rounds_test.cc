#include <gtest/gtest.h>

#include <set>

#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

TEST(disjoint_rounds, meet_every_pair_once_and_no_host_twice_in_a_round) {
  for (size_t hosts = 0; hosts <= 9; ++hosts) {
    std::set<std::pair<size_t, size_t>> met;
    for (const auto& round : disjoint_rounds(hosts)) {
      std::set<size_t> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, hosts);
        EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << hosts;
        EXPECT_TRUE(met.insert({a, b}).second) << hosts;
      }
    }
    EXPECT_EQ(met.size(), hosts < 2 ? 0 : hosts * (hosts - 1) / 2);
    EXPECT_LE(disjoint_rounds(hosts).size(), hosts);
  }
}

}  // namespace
}  // namespace plumbline
