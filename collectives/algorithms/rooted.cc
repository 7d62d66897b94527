// Algorithms from one rank to all or back, along trees and chains.
#include <fmt/format.h>

#include <deque>
#include <set>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

struct Place {
  int parent = -1;            // rank, -1 at the root
  std::vector<int> children;  // ranks, smallest subtree first
};

Place place_of(const ScheduleRequest& q) {
  Place place;
  const int number = wrap(q.rank - q.root, q.size);
  for (int bit = 1; bit < q.size; bit *= 2) {
    if ((number & bit) != 0) {
      place.parent = wrap(number - bit + q.root, q.size);
      break;
    }
    if (number + bit < q.size) place.children.push_back(wrap(number + bit + q.root, q.size));
  }
  return place;
}

// Allreduce along a tree: every rank waits for its children's sums, adds its own, hands them to its
// parent and the result back to its children. As deep as the tree both ways; what counts is that
// only ranks that are connected exchange messages.
Schedule build_allreduce_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const std::vector<int>& parents = *q.tree;
  const int parent = parents[static_cast<size_t>(q.rank)];
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  std::vector<int> children;
  std::vector<StepId> got;
  std::vector<Range> parts = {mine};
  for (int peer = 0; peer < q.size; ++peer) {
    if (parents[static_cast<size_t>(peer)] != q.rank) continue;
    children.push_back(peer);
    parts.push_back(b.scratch(q.count));
    got.push_back(b.recv(peer, 0, parts.back()));
  }
  StepId reduced = kNoStep;
  const bool root = parent < 0;
  if (!children.empty()) reduced = b.reduce_all(parts, result, root, got);
  if (!root) {
    const StepId sent = b.send(parent, 0, children.empty() ? mine : result, {reduced});
    reduced = b.recv(parent, 0, result, {sent});
  }
  for (const int child : children) b.send(child, 0, result, {reduced});
  return b.finish();
}

std::string needs_tree(const ScheduleRequest& q) {
  const bool fits = q.tree != nullptr && q.tree->size() == static_cast<size_t>(q.size);
  return fits ? "" : "needs a tree of these ranks";
}

}  // namespace

// Binomial trees: ceil(log2 n) messages deep. Ranks are numbered from the root; the parent of a
// rank is that number with its lowest set bit cleared, its children are the numbers that set one
// lower bit.
Schedule build_broadcast_binomial(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Place place = place_of(q);
  const bool is_root = place.parent < 0;
  const Range out = ScheduleBuilder::out(0, q.count);
  const Range data = is_root ? ScheduleBuilder::in(0, q.count) : out;
  const StepId got = is_root ? kNoStep : b.recv(place.parent, 0, out);
  for (size_t i = place.children.size(); i-- > 0;) b.stream(place.children[i], 0, data, got);
  if (is_root) b.copy_own(data, out);
  return b.finish();
}

Schedule build_reduce_binomial(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Place place = place_of(q);
  const bool is_root = place.parent < 0;
  Range sum = ScheduleBuilder::in(0, q.count);
  StepId reduced = kNoStep;
  if (!place.children.empty()) {
    const Range result = is_root ? ScheduleBuilder::out(0, q.count) : b.scratch(q.count);
    for (int child : place.children) {
      const bool last = is_root && child == place.children.back();
      reduced = b.recv_reduce(child, 0, sum, result, last, {reduced});
      sum = result;
    }
  }
  if (!is_root) b.stream(place.parent, 0, sum, reduced);
  return b.finish();
}

// Chains: the ranks in a row from the root, every byte forwarded as soon as it has arrived, so that
// a large array takes little more than one transfer time for any number of ranks.
Schedule build_broadcast_chain(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const int number = wrap(q.rank - q.root, q.size);
  const Range out = ScheduleBuilder::out(0, q.count);
  const Range data = number == 0 ? ScheduleBuilder::in(0, q.count) : out;
  const StepId got = number == 0 ? kNoStep : b.recv(wrap(q.rank - 1, q.size), 0, out);
  if (number + 1 < q.size) b.stream(wrap(q.rank + 1, q.size), 0, data, got);
  if (number == 0) b.copy_own(data, out);
  return b.finish();
}

// From the far end towards the root, one contribution added per hop.
Schedule build_reduce_chain(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const int number = wrap(q.rank - q.root, q.size);
  const bool is_root = number == 0;
  Range sum = ScheduleBuilder::in(0, q.count);
  StepId reduced = kNoStep;
  if (number + 1 < q.size) {
    const Range result = is_root ? ScheduleBuilder::out(0, q.count) : b.scratch(q.count);
    reduced = b.recv_reduce(wrap(q.rank + 1, q.size), 0, sum, result, is_root);
    sum = result;
  }
  if (!is_root) b.stream(wrap(q.rank - 1, q.size), 0, sum, reduced);
  return b.finish();
}

const AlgorithmRow& tree_allreduce() {
  static const AlgorithmRow kRow = {Op::kAllreduce,
                                    "tree",
                                    "sums up a tree of connected ranks, the result back down",
                                    "folklore: reduce and broadcast along a spanning tree",
                                    needs_tree,
                                    build_allreduce_tree};
  return kRow;
}

Expected<std::vector<int>> spanning_tree(int size, const std::vector<std::pair<int, int>>& apart) {
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
