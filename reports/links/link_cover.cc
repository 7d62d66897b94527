#include "reports/links/link_cover.h"

#include <algorithm>
#include <set>

#include "core/record/link.h"

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

}  // namespace

LinkCover cover_of(const LinkStates& states, int ranks) { return Cover(states, ranks).find(); }

}  // namespace plumbline
