#include "reports/links/link_outliers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/record/link.h"
#include "core/stats/stats.h"
#include "reports/thresholds.h"

namespace plumbline {
namespace {

constexpr size_t kFewestOfLine = 2;      // links: one link alone says nothing of a host
constexpr size_t kFewestEverywhere = 3;  // hosts

// A row (sender) or column (receiver) of the matrix.
struct Line {
  int rank = 0;
  bool sends = false;
  std::vector<size_t> links;  // their indices
};

class Cover {
 public:
  Cover(const LinkStates& states, int ranks) : states_(states), ranks_(ranks) {}

  LinkCover find() {
    LinkCover out;
    size_t bad = 0;
    std::set<int> hosts;
    bool all = true;
    for_each_link([&](int from, int to, LinkState state) {
      hosts.insert({from, to});
      bad += state == LinkState::kBad ? 1 : 0;
      all = all && state == LinkState::kBad;
    });
    if (bad == 0) return out;
    if (all && hosts.size() >= kFewestEverywhere) {
      out.everywhere = true;
      return out;
    }
    find_lines();
    while (drop_needless()) {
    }
    name_lines(out);
    const std::vector<size_t> covered = times_covered();
    for_each_link([&](int from, int to, LinkState state) {
      const bool open = state == LinkState::kBad && covered[pair_index(ranks_, from, to)] == 0;
      if (open) out.links.emplace_back(from, to);
    });
    return out;
  }

 private:
  template <typename Take>
  void for_each_link(const Take& take) const {
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        const size_t index = pair_index(ranks_, from, to);
        if (from == to || index >= states_.size() || states_[index] == LinkState::kUnknown) {
          continue;
        }
        take(from, to, states_[index]);
      }
    }
  }

  void find_lines() {
    for (const bool sends : {true, false}) {
      for (int rank = 0; rank < ranks_; ++rank) {
        Line line{rank, sends, {}};
        bool all = true;
        for_each_link([&](int from, int to, LinkState state) {
          if ((sends ? from : to) != rank) return;
          line.links.push_back(pair_index(ranks_, from, to));
          all = all && state == LinkState::kBad;
        });
        if (all && line.links.size() >= kFewestOfLine) lines_.push_back(std::move(line));
      }
    }
  }

  std::vector<size_t> times_covered() const {
    std::vector<size_t> times(states_.size());
    for (const Line& line : lines_) {
      for (const size_t link : line.links) ++times[link];
    }
    return times;
  }

  // A line whose every link belongs to another line as well explains nothing; one at a time,
  // because two such lines may need each other.
  bool drop_needless() {
    const std::vector<size_t> times = times_covered();
    const auto needless = std::find_if(lines_.begin(), lines_.end(), [&](const Line& line) {
      return std::all_of(line.links.begin(), line.links.end(),
                         [&](size_t link) { return times[link] > 1; });
    });
    if (needless == lines_.end()) return false;
    lines_.erase(needless);
    return true;
  }

  void name_lines(LinkCover& out) const {
    std::set<int> senders, receivers;
    for (const Line& line : lines_) (line.sends ? senders : receivers).insert(line.rank);
    for (const int rank : senders) {
      (receivers.count(rank) != 0 ? out.hosts : out.senders).push_back(rank);
    }
    for (const int rank : receivers) {
      if (senders.count(rank) == 0) out.receivers.push_back(rank);
    }
  }

  const LinkStates& states_;
  const int ranks_;
  std::vector<Line> lines_;
};

bool usable(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0;
}

class Judge {
 public:
  Judge(const LinkMatrix& matrix, const LinkRule& rule)
      : matrix_(matrix), ranks_(matrix.ranks), rule_(rule) {
    const size_t fields = static_cast<size_t>(ranks_) * static_cast<size_t>(ranks_);
    expected_.resize(fields);
    states_.assign(fields, LinkState::kUnknown);
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        const size_t link = pair_index(ranks_, from, to);
        if (from == to || link >= matrix.values.size() || !usable(matrix.values[link])) continue;
        links_.push_back(link);
        states_[link] = LinkState::kGood;
        ends_.insert(std::minmax(from, to));
      }
    }
    out_.values = links_.size();
    out_.factor_only = links_.size() < kFewInRateGroup;
  }

  LinkOutliers all() {
    std::map<int, std::vector<size_t>> kinds;  // of the links without a promise
    for (const size_t link : links_) {
      if (promised(link)) {
        judge_promise(link);
      } else {
        kinds[link < matrix_.kinds.size() ? matrix_.kinds[link] : 0].push_back(link);
      }
    }
    for (const auto& [kind, links] : kinds) judge_group(links);
    name(cover_of(states_, ranks_));
    const bool even = find_asymmetries(matrix_.values, ranks_, rule_).empty();
    out_.unknowable = ends_.size() == 1 && out_.promised == 0 && out_.empty() && even;
    return out_;
  }

 private:
  double value(size_t link) const { return *matrix_.values[link]; }
  // More is better, for all values alike.
  double goodness(double value) const { return rule_.more_is_better ? value : 1 / value; }
  bool promised(size_t link) const {
    return link < matrix_.promised.size() && usable(matrix_.promised[link]);
  }
  bool stated(size_t link) const {
    return promised(link) && link < matrix_.stated.size() && matrix_.stated[link];
  }
  double worse_by(double value, double expected) const {
    return goodness(expected) / goodness(value);
  }

  void judge_promise(size_t link) {
    ++out_.promised;
    expected_[link] = *matrix_.promised[link];
    if (worse_by(value(link), expected_[link]) * rule_.share > 1) states_[link] = LinkState::kBad;
  }

  // Two links must agree to be a measure for others; between two hosts there are no two others.
  void judge_group(const std::vector<size_t>& links) {
    std::vector<double> values;
    for (const size_t link : links) values.push_back(goodness(value(link)));
    const size_t fewest = links.size() > 2 ? 2 : 1;
    for (const RateGroup& group : rate_groups(values)) {
      if (group.members.size() < fewest) continue;
      compare(links, group);
      if (credible(links.size(), group)) {
        out_.scattered = out_.scattered || scatters(group);
        return;
      }
      for (const size_t link : links) states_[link] = LinkState::kGood;
    }
  }

  // A few links that are faster than all others are no measure for them, unless the others are slow
  // because of their hosts.
  bool credible(size_t values, const RateGroup& group) const {
    const bool few = static_cast<double>(group.members.size()) <
                     threshold(LinkThreshold::kGroupShare) * static_cast<double>(values);
    return !few || cover_of(states_, ranks_).named() <= static_cast<size_t>(ranks_);
  }

  bool scatters(const RateGroup& group) const {
    const double worst = goodness(group.members.back()), usual = goodness(group.usual);
    return group.members.back() * rule_.factor <= group.usual &&
           std::abs(worst - usual) >= rule_.least_more;
  }

  void compare(const std::vector<size_t>& links, const RateGroup& group) {
    const double usual = goodness(group.usual);
    for (const size_t link : links) {
      expected_[link] = usual;
      const bool bad = is_below(group, goodness(value(link)), rule_.factor) &&
                       std::abs(value(link) - usual) >= rule_.least_more;
      states_[link] = bad ? LinkState::kBad : LinkState::kGood;
    }
  }

  // What is said of several links together.
  LinkOutlier outlier(int from, int to, const std::vector<size_t>& links) const {
    LinkOutlier out{from, to, 0, 0, 0, true, false};
    std::vector<double> values, expected;
    for (const size_t link : links) {
      values.push_back(value(link));
      expected.push_back(expected_[link]);
      out.promised = out.promised && promised(link);
      out.fails = out.fails ||
                  (stated(link) && worse_by(value(link), expected_[link]) * rule_.fail_share > 1);
    }
    out.value = median(std::move(values));
    out.expected = median(std::move(expected));
    out.factor = worse_by(out.value, out.expected);
    return out;
  }

  // The links that a sender (receiver, host) has; all of them for -1 and -1.
  std::vector<size_t> links_of(int from, int to) const {
    std::vector<size_t> out;
    for (const size_t link : links_) {
      const int sender = static_cast<int>(link) / ranks_,
                receiver = static_cast<int>(link) % ranks_;
      const bool host = from == to && (sender == from || receiver == from);
      const bool line = from != to && (from < 0 || sender == from) && (to < 0 || receiver == to);
      if (host || line || (from < 0 && to < 0)) out.push_back(link);
    }
    return out;
  }

  void name(const LinkCover& cover) {
    const auto add = [&](std::vector<LinkOutlier>& list, int from, int to) {
      list.push_back(outlier(from, to, links_of(from, to)));
    };
    if (cover.everywhere) out_.everywhere = outlier(-1, -1, links_);
    for (const int rank : cover.hosts) add(out_.hosts, rank, rank);
    for (const int rank : cover.senders) add(out_.senders, rank, -1);
    for (const int rank : cover.receivers) add(out_.receivers, -1, rank);
    for (const auto& [from, to] : cover.links) add(out_.pairs, from, to);
    for (auto* list : {&out_.hosts, &out_.senders, &out_.receivers, &out_.pairs}) {
      std::stable_sort(list->begin(), list->end(), [](const LinkOutlier& a, const LinkOutlier& b) {
        return a.factor > b.factor;
      });
    }
  }

  const LinkMatrix& matrix_;
  const int ranks_;
  const LinkRule rule_;
  std::vector<size_t> links_;           // those with a value
  std::set<std::pair<int, int>> ends_;  // pairs of hosts, lower first
  std::vector<double> expected_;
  LinkStates states_;
  LinkOutliers out_;
};

}  // namespace

LinkCover cover_of(const LinkStates& states, int ranks) { return Cover(states, ranks).find(); }

LinkOutliers find_outliers(const LinkMatrix& matrix, const LinkRule& rule) {
  return Judge(matrix, rule).all();
}

LinkOutliers find_outliers(const LinkValues& values, int ranks, const LinkRule& rule) {
  return find_outliers(LinkMatrix{ranks, values, {}, {}, {}}, rule);
}

std::vector<LinkAsymmetry> find_asymmetries(const LinkValues& values, int ranks,
                                            const LinkRule& rule) {
  std::vector<LinkAsymmetry> out;
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      const auto there = pair_index(ranks, a, b);
      const auto back = pair_index(ranks, b, a);
      if (back >= values.size() || !usable(values[there]) || !usable(values[back])) continue;
      const double factor =
          std::max(*values[there] / *values[back], *values[back] / *values[there]);
      if (factor < rule.asymmetry) continue;
      const bool there_is_worse = (*values[there] < *values[back]) == rule.more_is_better;
      out.push_back(there_is_worse ? LinkAsymmetry{a, b, *values[there], *values[back], factor}
                                   : LinkAsymmetry{b, a, *values[back], *values[there], factor});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const LinkAsymmetry& a, const LinkAsymmetry& b) {
    return a.factor > b.factor;
  });
  return out;
}

}  // namespace plumbline
