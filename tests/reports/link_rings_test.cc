// Which orders of a ring the report of a link matrix shows.
#include <gtest/gtest.h>

#include "reports/links/link_outliers.h"
#include "tests/support/link_values.h"

namespace plumbline {
namespace {

using test::full;
using test::hop;

TEST(Rings, ListNamesRankOrderReverseAndSuggestion) {
  LinkValues rates = full(6, 100);
  hop(rates, 0, 1, 6) = hop(rates, 1, 0, 6) = 10;
  const auto rings = ring_orders(rates, {}, 6);
  ASSERT_EQ(rings.size(), 3u);
  EXPECT_EQ(rings[0].name, "rank order");
  EXPECT_EQ(rings[1].name, "reversed");
  EXPECT_EQ(rings[2].name, "suggested");
  EXPECT_EQ(ring_orders(rates, {}, 2).size(), 1u);
  EXPECT_EQ(ring_orders(full(4, 1), {}, 4).size(), 6u);  // all there are
  EXPECT_EQ(ring_orders(full(4, 1), {}, 4)[0].name, "rank order, suggested");
}

}  // namespace
}  // namespace plumbline
