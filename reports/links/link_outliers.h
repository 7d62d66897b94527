// Which hosts, senders, receivers and single links of an N x N matrix are worse than they should
// be. A link is compared with what it was promised (its speed), or else with the best group of
// links of its kind (core/stats/stats.h), never with the median: one bad host of four is half
// of all links. Then as few hosts as explain the bad links are named, and what is left link by
// link. Numbers: reports/thresholds.h. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/stats/ring_orders.h"

namespace plumbline {

// Which hosts stand behind a set of bad links: senders and receivers whose every link is bad, as
// few as explain them all, and the links that are left.

enum class LinkState : char { kUnknown, kGood, kBad };
using LinkStates = std::vector<LinkState>;  // [from * ranks + to]

struct LinkCover {
  bool everywhere = false;  // every link between three or more hosts is bad: nothing else is named
  std::vector<int> hosts;   // both as sender and as receiver
  std::vector<int> senders, receivers;
  std::vector<std::pair<int, int>> links;  // from, to

  size_t named() const {
    return hosts.size() + senders.size() + receivers.size() + links.size() + (everywhere ? 1 : 0);
  }
};

// A host is named as a sender (receiver) when it has two links at least and all of them are bad.
LinkCover cover_of(const LinkStates& states, int ranks);

struct LinkOutlier {
  int from = -1, to = -1;  // -1 = all: a sender (to = -1) or a receiver (from = -1); equal = a host
  double value = 0;        // of several links: the median
  double factor = 0;       // how many times worse than it should be
  double expected = 0;     // what it should be; of several links: the median
  bool promised = false;   // `expected` is a promise, else what the best group reaches
  bool fails = false;      // the promise was stated, and it is missed by far
};

struct LinkOutliers {
  std::vector<LinkOutlier> hosts, senders, receivers, pairs;
  std::optional<LinkOutlier>
      everywhere;                   // every link of three or more hosts; nothing else is named
  size_t values = 0, promised = 0;  // links with a value; and a promise too
  bool factor_only = false;         // too few values to see how they scatter
  bool scattered = false;           // they scatter so much that what is bad cannot be told
  bool unknowable = false;          // one pair, alike in both directions, and nothing was promised

  bool empty() const {
    return hosts.empty() && senders.empty() && receivers.empty() && pairs.empty() && !everywhere;
  }
};

struct LinkRule {
  bool more_is_better = true;
  double factor = 1.5;     // at least so many times worse than the best group's median
  double least_more = 0;   // and at least so much away from it, in the values' unit
  double asymmetry = 1.5;  // directions of a pair that differ so many times are uneven
  double share = 0.7;      // of what was promised: less is bad
  double fail_share = 0;   // of what was stated: less fails
};

// One matrix: what was measured, and what is known of each link. `promised`, `stated` and `kinds`
// may be empty: nothing was promised, and all links are of one kind.
struct LinkMatrix {
  int ranks = 0;
  LinkValues values;         // absent, zero and negative ones are left out
  LinkValues promised;       // in the unit of the values
  std::vector<bool> stated;  // the promise is the user's own word
  std::vector<int> kinds;
};
LinkOutliers find_outliers(const LinkMatrix& matrix, const LinkRule& rule);
LinkOutliers find_outliers(const LinkValues& values, int ranks, const LinkRule& rule);

struct LinkAsymmetry {
  int from = -1, to = -1;  // the worse direction
  double value = 0, other = 0, factor = 0;
};
// Pairs whose two directions differ by the rule's asymmetry, worst first.
std::vector<LinkAsymmetry> find_asymmetries(const LinkValues& values, int ranks,
                                            const LinkRule& rule);

// The orders of a ring (core/stats/ring_orders.h) that the report shows: rank order, its reverse
// and the suggestion; every order there is for up to four ranks.
std::vector<RingOrder> ring_orders(const LinkValues& rates, const LinkValues& latency, int ranks);

}  // namespace plumbline
