// The judgement of link matrices, over every placement of bad hosts, senders, receivers and single
// links among 2 to 8 hosts, with noise: what share of the bad links is named (recall), and what
// share of what is named is bad (precision). Generated matrices with a fixed seed.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "core/record/link.h"
#include "reports/links/link_outliers.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

constexpr uint64_t kSeed = 20260107;
constexpr double kGoodBps = 117.5e6, kSpeedBps = 125e6;  // bytes per second: 940 of 1000 Mbit/s
constexpr double kNoise = 0.03;  // standard deviation of the logarithm: what short streams scatter
constexpr int kMostHosts = 8;

using Link = std::pair<int, int>;
using Links = std::set<Link>;

struct Placement {
  std::set<int> hosts, senders, receivers;
  Links links;
};

Links bad_links(const Placement& placement, int ranks) {
  Links out = placement.links;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const bool host = placement.hosts.count(from) + placement.hosts.count(to) > 0;
      if (host || placement.senders.count(from) + placement.receivers.count(to) > 0) {
        out.insert({from, to});
      }
    }
  }
  return out;
}

// `slower`: how many times, each bad host or link by its own.
LinkMatrix matrix_of(const Placement& placement, int ranks, bool stated, double slower_least,
                     std::mt19937_64& random) {
  const Links bad = bad_links(placement, ranks);
  const size_t fields = static_cast<size_t>(ranks) * static_cast<size_t>(ranks);
  LinkMatrix out{ranks, LinkValues(fields), {}, {}, {}};
  if (stated) {
    out.promised.assign(fields, kSpeedBps);
    out.stated.assign(fields, true);
  }
  std::normal_distribution<double> noise(0, kNoise);
  std::uniform_real_distribution<double> slower(slower_least, 20);
  std::vector<double> of_host(static_cast<size_t>(ranks));
  for (double& factor : of_host) factor = slower(random);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      double rate = kGoodBps;
      if (bad.count({from, to}) != 0) {
        const bool single = placement.links.count({from, to}) != 0;
        const double factor =
            single ? slower(random)
                   : std::max(of_host[static_cast<size_t>(from)], of_host[static_cast<size_t>(to)]);
        rate /= factor;
      }
      out.values[pair_index(ranks, from, to)] = rate * std::exp(noise(random));
    }
  }
  return out;
}

LinkRule rule() {
  LinkRule out;
  out.fail_share = 0.25;
  return out;
}

Links named_links(const LinkOutliers& found, int ranks) {
  Placement named;
  for (const LinkOutlier& host : found.hosts) named.hosts.insert(host.from);
  for (const LinkOutlier& line : found.senders) named.senders.insert(line.from);
  for (const LinkOutlier& line : found.receivers) named.receivers.insert(line.to);
  for (const LinkOutlier& pair : found.pairs) named.links.insert({pair.from, pair.to});
  if (found.everywhere) {
    for (int rank = 0; rank < ranks; ++rank) named.hosts.insert(rank);
  }
  return bad_links(named, ranks);
}

struct Tally {
  size_t placements = 0, exact = 0;  // exact: the very hosts, senders and receivers, and no more
  size_t bad = 0, named = 0, right = 0;

  double recall() const { return static_cast<double>(right) / static_cast<double>(bad); }
  double precision() const { return static_cast<double>(right) / static_cast<double>(named); }
};

std::set<int> ranks_of(const std::vector<LinkOutlier>& list, bool sends) {
  std::set<int> out;
  for (const LinkOutlier& outlier : list) out.insert(sends ? outlier.from : outlier.to);
  return out;
}

void judge(const Placement& placement, int ranks, bool stated, double slower_least,
           std::mt19937_64& random, Tally& tally) {
  const LinkOutliers found =
      find_outliers(matrix_of(placement, ranks, stated, slower_least, random), rule());
  const Links bad = bad_links(placement, ranks), named = named_links(found, ranks);
  ++tally.placements;
  tally.bad += bad.size();
  tally.named += named.size();
  for (const Link& link : named) tally.right += bad.count(link);
  const bool same = ranks_of(found.hosts, true) == placement.hosts &&
                    ranks_of(found.senders, true) == placement.senders &&
                    ranks_of(found.receivers, false) == placement.receivers &&
                    found.pairs.size() == placement.links.size();
  // With all but one host slow every link is, and which host is sound cannot be told.
  const bool all =
      found.everywhere && bad.size() == static_cast<size_t>(ranks) * static_cast<size_t>(ranks - 1);
  tally.exact += same || all ? 1 : 0;
}

// Every set of `count` and fewer of the ranks, but the empty one.
void for_each_subset(int ranks, int most, const std::function<void(const std::set<int>&)>& take) {
  for (unsigned bits = 1; bits < 1u << ranks; ++bits) {
    if (std::popcount(bits) > most) continue;
    std::set<int> subset;
    for (int rank = 0; rank < ranks; ++rank) {
      if ((bits >> rank & 1u) != 0) subset.insert(rank);
    }
    take(subset);
  }
}

void report(const char* what, const Tally& tally) {
  testing::Test::RecordProperty(std::string(what) + "_recall", std::to_string(tally.recall()));
  std::printf("%s: %zu placements, recall %.4f, precision %.4f, exactly named %.4f\n", what,
              tally.placements, tally.recall(), tally.precision(),
              static_cast<double>(tally.exact) / static_cast<double>(tally.placements));
}

TEST(LinkPlacements, EveryPlacementOfSlowHostsIsNamedWithoutASpeed) {
  std::mt19937_64 random(kSeed);
  Tally tally;
  for (int ranks = 3; ranks <= kMostHosts; ++ranks) {
    for_each_subset(ranks, ranks - 2, [&](const std::set<int>& slow) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        judge({slow, {}, {}, {}}, ranks, false, 2, random, tally);
      }
    });
  }
  report("hosts", tally);
  EXPECT_EQ(tally.recall(), 1);
  EXPECT_EQ(tally.precision(), 1);
  EXPECT_EQ(tally.exact, tally.placements);
}

TEST(LinkPlacements, AllButOneMayBeSlowWhereASpeedIsStated) {
  std::mt19937_64 random(kSeed + 1);
  Tally tally;
  for (int ranks = 2; ranks <= kMostHosts; ++ranks) {
    for_each_subset(ranks, ranks - 1, [&](const std::set<int>& slow) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        judge({slow, {}, {}, {}}, ranks, true, 1.6, random, tally);
      }
    });
  }
  report("hosts_stated", tally);
  EXPECT_EQ(tally.recall(), 1);
  EXPECT_EQ(tally.precision(), 1);
}

// One direction: what a host sends or receives, every placement, and both kinds mixed.
TEST(LinkPlacements, EveryPlacementOfSlowDirections) {
  std::mt19937_64 random(kSeed + 2);
  Tally pure, mixed;
  for (int ranks = 3; ranks <= kMostHosts; ++ranks) {
    for_each_subset(ranks, ranks - 1, [&](const std::set<int>& slow) {
      judge({{}, slow, {}, {}}, ranks, false, 2, random, pure);
      judge({{}, {}, slow, {}}, ranks, false, 2, random, pure);
    });
    if (ranks < 5) continue;
    for_each_subset(ranks, 2, [&](const std::set<int>& sends) {
      for_each_subset(ranks, 2, [&](const std::set<int>& receives) {
        judge({{}, sends, receives, {}}, ranks, false, 2, random, mixed);
      });
    });
  }
  report("directions", pure);
  report("directions_mixed", mixed);
  for (const Tally& tally : {pure, mixed}) {
    EXPECT_EQ(tally.recall(), 1);
    EXPECT_EQ(tally.precision(), 1);
  }
  EXPECT_EQ(pure.exact, pure.placements);
}

TEST(LinkPlacements, SingleLinksOneByOneAndTogether) {
  std::mt19937_64 random(kSeed + 3);
  Tally one, some;
  for (int ranks = 2; ranks <= kMostHosts; ++ranks) {
    std::vector<Link> all;
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from != to) all.emplace_back(from, to);
      }
    }
    for (const Link& link : all) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        judge({{}, {}, {}, {link}}, ranks, false, 2, random, one);
      }
    }
    if (ranks == 2) continue;
    for (int repeat = 0; repeat < 400; ++repeat) {
      std::shuffle(all.begin(), all.end(), random);
      const size_t count = 1 + random() % (all.size() / 2);
      const Links bad(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
      judge({{}, {}, {}, bad}, ranks, false, 2, random, some);
    }
  }
  report("one_link", one);
  report("many_links", some);
  EXPECT_EQ(one.exact, one.placements);
  EXPECT_EQ(some.recall(), 1);
  EXPECT_EQ(some.precision(), 1);
}

// Hosts, directions and links at once.
TEST(LinkPlacements, MixturesOfHostsDirectionsAndLinks) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  std::mt19937_64 random(kSeed + 4);
  Tally tally;
  for (int ranks = 4; ranks <= kMostHosts; ++ranks) {
    for (int repeat = 0; repeat < 2000; ++repeat) {
      Placement placement;
      const auto any = [&] { return static_cast<int>(random() % static_cast<uint64_t>(ranks)); };
      for (int i = 0; i < ranks / 4; ++i) placement.hosts.insert(any());
      if (random() % 2 == 0) placement.senders.insert(any());
      if (random() % 2 == 0) placement.receivers.insert(any());
      const Link link{any(), any()};
      if (link.first != link.second) placement.links.insert(link);
      judge(placement, ranks, false, 2, random, tally);
    }
  }
  report("mixtures", tally);
  // Where hardly a sound link is left of four hosts, the two or three are merely the fastest.
  EXPECT_GE(tally.recall(), 0.999);
  EXPECT_EQ(tally.precision(), 1);
}

// Nothing is named where nothing is bad, also with three times the noise; and twice slower is
// found in it nearly always.
TEST(LinkPlacements, MuchNoise) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  std::mt19937_64 random(kSeed + 5);
  std::normal_distribution<double> noise(0, 3 * kNoise);
  size_t named = 0, healthy = 0, found = 0, slow = 0;
  for (int ranks = 2; ranks <= kMostHosts; ++ranks) {
    for (int repeat = 0; repeat < 2000; ++repeat) {
      LinkMatrix matrix{
          ranks, LinkValues(static_cast<size_t>(ranks) * static_cast<size_t>(ranks)), {}, {}, {}};
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
          if (from != to) {
            matrix.values[pair_index(ranks, from, to)] = kGoodBps * std::exp(noise(random));
          }
        }
      }
      ++healthy;
      named += find_outliers(matrix, rule()).empty() ? 0 : 1;
      if (ranks < 3) continue;
      for (int other = 1; other < ranks; ++other) {  // host 0, by three
        *matrix.values[pair_index(ranks, 0, other)] /= 3;
        *matrix.values[pair_index(ranks, other, 0)] /= 3;
      }
      ++slow;
      const LinkOutliers outliers = find_outliers(matrix, rule());
      found += outliers.hosts.size() == 1 && outliers.pairs.empty() ? 1 : 0;
    }
  }
  std::printf(
      "noise of %.0f %%: %zu of %zu healthy matrices had an outlier; %zu of %zu slow hosts\n",
      300 * kNoise, named, healthy, found, slow);
  EXPECT_LE(static_cast<double>(named), 0.001 * static_cast<double>(healthy));
  EXPECT_GE(static_cast<double>(found), 0.99 * static_cast<double>(slow));
}

TEST(LinkPlacements, TwoHostsWithoutASpeedCannotBeJudged) {
  LinkMatrix matrix{2, {{}, 14e6, 14.2e6, {}}, {}, {}, {}};
  EXPECT_TRUE(find_outliers(matrix, rule()).empty());
  EXPECT_TRUE(find_outliers(matrix, rule()).unknowable);
  matrix.promised.assign(4, kSpeedBps);
  matrix.stated.assign(4, true);
  const LinkOutliers found = find_outliers(matrix, rule());
  EXPECT_FALSE(found.unknowable);
  ASSERT_EQ(found.pairs.size(), 2u);
  EXPECT_TRUE(found.pairs[0].fails);
  matrix.stated.assign(4, false);  // negotiated: slow, and no failure
  EXPECT_FALSE(find_outliers(matrix, rule()).pairs.at(0).fails);
  matrix = {2, {{}, 14e6, 117e6, {}}, {}, {}, {}};  // the other direction is a measure
  EXPECT_FALSE(find_outliers(matrix, rule()).unknowable);
  EXPECT_EQ(find_outliers(matrix, rule()).pairs.size(), 1u);
}

TEST(LinkPlacements, LinksOfAnotherKindAreNoMeasure) {
  LinkMatrix matrix{4, LinkValues(16), {}, {}, std::vector<int>(16)};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const bool routed = (from + to) % 2 == 0;
      matrix.values[pair_index(4, from, to)] = routed ? 20e6 : 100e6;
      matrix.kinds[pair_index(4, from, to)] = routed ? 1 : 0;
    }
  }
  EXPECT_TRUE(find_outliers(matrix, rule()).empty());
  matrix.kinds.assign(16, 0);
  EXPECT_EQ(find_outliers(matrix, rule()).pairs.size(), 4u);
}

TEST(LinkPlacements, AQuarterOfAStatedSpeedIsTheLimitOfAFailure) {
  LinkMatrix matrix{
      4, LinkValues(16, 117e6), LinkValues(16, 125e6), std::vector<bool>(16, true), {}};
  matrix.values[1] = 0.69 * 125e6;
  EXPECT_EQ(find_outliers(matrix, rule()).pairs.size(), 1u);
  EXPECT_FALSE(find_outliers(matrix, rule()).pairs.at(0).fails);
  matrix.values[1] = 0.71 * 125e6;
  EXPECT_TRUE(find_outliers(matrix, rule()).empty());
  matrix.values[1] = 0.26 * 125e6;
  EXPECT_FALSE(find_outliers(matrix, rule()).pairs.at(0).fails);
  matrix.values[1] = 0.24 * 125e6;
  EXPECT_TRUE(find_outliers(matrix, rule()).pairs.at(0).fails);
}

}  // namespace
}  // namespace plumbline
