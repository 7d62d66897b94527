// Every collective along one tree of ranks that are connected, for clusters whose ranks do not all
// meet: what two ranks have for one another goes over those between them. Ranks are points of the
// tree spanning_tree() makes of the pairs that are apart, so that the tree is the same on all;
// where nobody is apart all others hang at rank 0. Folklore; that no link carries more than it
// must, each direction the parts that are wanted on its far side, or a sum of those on its near
// one, is the lower bound of an operation on a tree.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// The tree as one rank sees it: its neighbours, and behind which of them each other rank lies.
class TreeView {
 public:
  explicit TreeView(const ScheduleRequest& q)
      : side_(static_cast<size_t>(q.size), -1), self_(q.rank) {
    const auto parents = spanning_tree(q.size, apart_of(q));
    std::vector<std::vector<int>> joined(static_cast<size_t>(q.size));
    for (int rank = 1; parents && rank < q.size; ++rank) {
      const int parent = (*parents)[static_cast<size_t>(rank)];
      joined[static_cast<size_t>(rank)].push_back(parent);
      joined[static_cast<size_t>(parent)].push_back(rank);
    }
    neighbours_ = joined[static_cast<size_t>(self_)];
    std::sort(neighbours_.begin(), neighbours_.end());
    for (const int first : neighbours_) {
      for (std::deque<int> reached = {first}; !reached.empty(); reached.pop_front()) {
        const int at = reached.front();
        side(at) = first;
        for (const int next : joined[static_cast<size_t>(at)]) {
          if (next != self_ && side(next) < 0) reached.push_back(next);
        }
      }
    }
  }

  // Ascending.
  const std::vector<int>& neighbours() const { return neighbours_; }
  // The neighbour on the way to a rank; -1 = this rank itself.
  int toward(int rank) const { return side_[static_cast<size_t>(rank)]; }
  // All neighbours but one; -1 = all.
  std::vector<int> others(int but) const {
    std::vector<int> rest = neighbours_;
    rest.erase(std::remove(rest.begin(), rest.end(), but), rest.end());
    return rest;
  }

 private:
  int& side(int rank) { return side_[static_cast<size_t>(rank)]; }

  std::vector<int> neighbours_;
  std::vector<int> side_;
  const int self_;
};

// Calls use(message, begin, count) for each segment of `count` elements: they follow one another
// through the tree, so that all of its links work at the same time.
template <typename Use>
void by_segments(const ScheduleRequest& q, const Use& use) {
  const uint64_t segment = std::max<uint64_t>(1, q.segment_bytes / q.elem_size);
  uint32_t message = 0;
  for (uint64_t begin = 0; begin < q.count; begin += segment) {
    use(message++, begin, std::min(segment, q.count - begin));
  }
}

// `part` of this rank added to what comes from `from`, in their order; kNoStep = nobody is there,
// and the sum is `part` itself. `dst` gets the sum. `last` as for recv_reduce().
StepId add_up(ScheduleBuilder& b, const std::vector<int>& from, uint32_t message, const Range& part,
              const Range& dst, bool last) {
  Range sum = part;
  StepId added = kNoStep;
  for (const int peer : from) {
    added = b.recv_reduce(peer, message, sum, dst, last && peer == from.back(), {added});
    sum = dst;
  }
  return added;
}

// A part that comes from `from` (-1: this rank's own, at `part`) to all of `to`, byte behind byte.
void hand_on(ScheduleBuilder& b, int from, const std::vector<int>& to, uint32_t message,
             const Range& part) {
  const StepId got = from < 0 ? kNoStep : b.recv(from, message, part);
  for (const int peer : to) b.stream(peer, message, part, got);
}

// The message that takes the part of one rank, or for one rank, or from one to another.
uint32_t message_of(const ScheduleRequest& q, int from, int to) {
  return static_cast<uint32_t>(from * q.size + to);
}

}  // namespace

Schedule build_broadcast_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(q.root);
  const Range out = ScheduleBuilder::out(0, q.count);
  const Range data = up < 0 ? ScheduleBuilder::in(0, q.count) : out;
  hand_on(b, up, tree.others(up), 0, data);
  if (up < 0) b.copy_own(data, out);
  return b.finish();
}

Schedule build_reduce_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(q.root);
  const std::vector<int> from = tree.others(up);
  by_segments(q, [&](uint32_t message, uint64_t begin, uint64_t count) {
    const Range mine = ScheduleBuilder::in(begin, count);
    const Range sum = from.empty() ? mine
                      : up < 0     ? ScheduleBuilder::out(begin, count)
                                   : b.scratch(count);
    const StepId added = add_up(b, from, message, mine, sum, up < 0);
    if (up >= 0) b.stream(up, message, sum, added);
  });
  return b.finish();
}

// Sums up to rank 0, and the result back down. No byte of it comes before the bytes that it is made
// of have gone, so it may lie where they did. Messages down are numbered behind those up: while
// both are waited for, it is those below who are late.
Schedule build_allreduce_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(0);
  const std::vector<int> down = tree.others(up);
  by_segments(q, [&](uint32_t message, uint64_t begin, uint64_t count) {
    const Range mine = ScheduleBuilder::in(begin, count);
    const Range result = ScheduleBuilder::out(begin, count);
    const uint32_t rising = 2 * message, falling = rising + 1;
    StepId done = add_up(b, down, rising, mine, result, up < 0);
    if (up >= 0) {
      b.stream(up, rising, down.empty() ? mine : result, done);
      done = b.recv(up, falling, result);
    }
    for (const int child : down) b.stream(child, falling, result, done);
  });
  return b.finish();
}

// Each part is a sum that grows on its way to its owner.
Schedule build_reduce_scatter_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const TreeView tree(q);
  for (int owner = 0; owner < q.size; ++owner) {
    const int up = tree.toward(owner);
    const std::vector<int> from = tree.others(up);
    const Range mine = block(BufferId::kIn, q.count, owner);
    const Range sum = from.empty() ? mine
                      : up < 0     ? ScheduleBuilder::out(0, q.count)
                                   : b.scratch(q.count);
    const StepId added = add_up(b, from, message_of(q, 0, owner), mine, sum, up < 0);
    if (up >= 0) b.stream(up, message_of(q, 0, owner), sum, added);
  }
  return b.finish();
}

Schedule build_allgather_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const TreeView tree(q);
  for (int owner = 0; owner < q.size; ++owner) {
    const int from = tree.toward(owner);
    const Range part =
        from < 0 ? ScheduleBuilder::in(0, q.count) : block(BufferId::kOut, q.count, owner);
    hand_on(b, from, tree.others(from), message_of(q, owner, 0), part);
    if (from < 0) b.copy_own(part, block(BufferId::kOut, q.count, owner));
  }
  return b.finish();
}

Schedule build_gather_tree(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(q.root);
  const Range own = ScheduleBuilder::in(0, q.count);
  for (int owner = 0; owner < q.size; ++owner) {
    const int from = tree.toward(owner);
    if (owner == q.rank) {
      if (up < 0) b.copy_own(own, block(BufferId::kOut, q.count, owner));
      if (up >= 0) b.send(up, message_of(q, owner, 0), own);
    } else if (from != up) {  // it lies behind this rank, as the root sees it
      const Range part = up < 0 ? block(BufferId::kOut, q.count, owner) : b.scratch(q.count);
      hand_on(b, from, up < 0 ? std::vector<int>() : std::vector<int>{up}, message_of(q, owner, 0),
              part);
    }
  }
  return b.finish();
}

Schedule build_scatter_tree(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(q.root);
  for (int owner = 0; owner < q.size; ++owner) {
    const int down = tree.toward(owner);
    const uint32_t message = message_of(q, 0, owner);
    if (owner == q.rank) {
      const Range own = ScheduleBuilder::out(0, q.count);
      if (up < 0) b.copy_own(block(BufferId::kIn, q.count, owner), own);
      if (up >= 0) b.recv(up, message, own);
    } else if (down != up) {
      hand_on(b, up, {down}, message,
              up < 0 ? block(BufferId::kIn, q.count, owner) : b.scratch(q.count));
    }
  }
  return b.finish();
}

// What this rank has for others leaves before it hands on what is not its own.
Schedule build_alltoall_tree(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const TreeView tree(q);
  std::vector<StepId> sent(static_cast<size_t>(q.size), kNoStep);
  for (int hop = 1; hop < q.size; ++hop) {
    const int to = wrap(q.rank + hop, q.size);
    sent[static_cast<size_t>(to)] =
        b.send(tree.toward(to), message_of(q, q.rank, to), block(BufferId::kIn, q.count, to));
  }
  for (int from = 0; from < q.size; ++from) {
    if (from == q.rank) continue;
    const Range dst = block(BufferId::kOut, q.count, from);
    const uint32_t message = message_of(q, from, q.rank);
    if (q.in_place) {  // the part for `from` lies where the part of `from` goes
      const Range parked = b.scratch(q.count);
      const StepId got = b.recv(tree.toward(from), message, parked);
      b.copy(parked, dst, {got, sent[static_cast<size_t>(from)]});
    } else {
      b.recv(tree.toward(from), message, dst);
    }
    for (int to = 0; to < q.size; ++to) {
      if (to == q.rank || tree.toward(to) == tree.toward(from)) continue;
      hand_on(b, tree.toward(from), {tree.toward(to)}, message_of(q, from, to), b.scratch(q.count));
    }
  }
  b.copy_own(block(BufferId::kIn, q.count, q.rank), block(BufferId::kOut, q.count, q.rank));
  return b.finish();
}

// Empty messages up to rank 0, and back down: to each neighbour, when all that do not lie behind it
// have come.
Schedule build_barrier_tree(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const TreeView tree(q);
  const int up = tree.toward(0);
  const std::vector<int> down = tree.others(up);
  std::vector<StepId> come;
  for (const int child : down) come.push_back(b.recv_token(child, 0));
  StepId back = kNoStep;
  if (up >= 0) {
    b.send_token(up, 0, come);
    back = b.recv_token(up, 1);
  }
  for (size_t i = 0; i < down.size(); ++i) {
    std::vector<StepId> others = come;
    others[i] = back;
    b.send_token(down[i], 1, others);
  }
  return b.finish();
}

Expected<std::vector<int>> spanning_tree(int size, const RankPairs& apart) {
  std::set<std::pair<int, int>> gaps;
  for (const auto& [a, b] : apart) gaps.insert(std::minmax(a, b));
  std::vector<int> parents(static_cast<size_t>(size), -1);
  std::set<int> missing;
  for (int rank = 1; rank < size; ++rank) missing.insert(rank);
  for (std::deque<int> reached = {0}; !reached.empty(); reached.pop_front()) {
    const int at = reached.front();
    for (auto it = missing.begin(); it != missing.end();) {
      if (gaps.count(std::minmax(at, *it)) != 0) {
        ++it;
        continue;
      }
      parents[static_cast<size_t>(*it)] = at;
      reached.push_back(*it);
      it = missing.erase(it);
    }
  }
  if (missing.empty()) return parents;
  return fail(
      ErrorCode::kUnreachable,
      fmt::format("rank {} has no way to rank 0 over hosts that may talk",
                  fmt::join(missing, ", rank ")),
      "put the hosts of one network into one scenario, or mend the groups of the host file");
}

}  // namespace plumbline
