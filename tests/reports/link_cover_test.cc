#include <gtest/gtest.h>

#include <functional>

#include "core/record/link.h"
#include "reports/links/link_outliers.h"

namespace plumbline {
namespace {

LinkStates states(int ranks, const std::function<bool(int, int)>& bad) {
  LinkStates out(static_cast<size_t>(ranks * ranks), LinkState::kUnknown);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      out[pair_index(ranks, from, to)] = bad(from, to) ? LinkState::kBad : LinkState::kGood;
    }
  }
  return out;
}

TEST(LinkCover, NothingBadNothingNamed) {
  EXPECT_EQ(cover_of(states(4, [](int, int) { return false; }), 4).named(), 0u);
  EXPECT_EQ(cover_of({}, 4).named(), 0u);
}

TEST(LinkCover, SlowSendersAreNotTheirOnlyReceiver) {
  const LinkCover cover = cover_of(states(3, [](int from, int) { return from < 2; }), 3);
  EXPECT_EQ(cover.senders, (std::vector<int>{0, 1}));
  EXPECT_EQ(cover.named(), 2u);
}

TEST(LinkCover, SlowReceiversAreNotTheirOnlySender) {
  const LinkCover cover = cover_of(states(3, [](int, int to) { return to < 2; }), 3);
  EXPECT_EQ(cover.receivers, (std::vector<int>{0, 1}));
  EXPECT_EQ(cover.named(), 2u);
}

TEST(LinkCover, ASoundHostAmongSlowOnesIsNotNamed) {
  const auto slow = [](int rank) { return rank < 6; };
  const LinkCover cover =
      cover_of(states(8, [&](int from, int to) { return slow(from) || slow(to); }), 8);
  EXPECT_EQ(cover.hosts, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(cover.named(), 6u);
}

TEST(LinkCover, EverythingBadNamesNobody) {
  const LinkCover cover = cover_of(states(3, [](int, int) { return true; }), 3);
  EXPECT_TRUE(cover.everywhere);
  EXPECT_EQ(cover.named(), 1u);
  EXPECT_EQ(cover_of(states(2, [](int, int) { return true; }), 2).links.size(), 2u)
      << "one cable: which end is bad nobody knows";
}

// A leaf of a star of cables has one link: that is the link, not the leaf.
TEST(LinkCover, OneLinkIsNoHost) {
  LinkStates star(16, LinkState::kUnknown);
  for (int leaf = 1; leaf < 4; ++leaf) {
    star[pair_index(4, 0, leaf)] = leaf == 2 ? LinkState::kBad : LinkState::kGood;
    star[pair_index(4, leaf, 0)] = LinkState::kGood;
  }
  EXPECT_EQ(cover_of(star, 4).links, (std::vector<std::pair<int, int>>{{0, 2}}));
}

}  // namespace
}  // namespace plumbline
