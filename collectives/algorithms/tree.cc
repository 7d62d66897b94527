// Allreduce along a tree: every rank waits for its children's sums, adds its own, hands them to its
// parent and the result back to its children. As deep as the tree both ways; what counts is that
// only ranks that are connected exchange messages.
#include <fmt/format.h>

#include <deque>
#include <set>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

Schedule build_allreduce_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const std::vector<int>& parents = *q.tree;
  const int parent = parents[static_cast<size_t>(q.rank)];
  const Range mine = ScheduleBuilder::in(0, q.count);
  const Range result = ScheduleBuilder::out(0, q.count);
  std::vector<int> children;
  std::vector<StepId> got;
  std::vector<Range> parts;
  for (int peer = 0; peer < q.size; ++peer) {
    if (parents[static_cast<size_t>(peer)] != q.rank) continue;
    children.push_back(peer);
    parts.push_back(b.scratch(q.count));
    got.push_back(b.recv(peer, 0, parts.back()));
  }
  StepId reduced = kNoStep;
  const bool root = parent < 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = root && i + 1 == parts.size();
    reduced = b.reduce(i == 0 ? mine : result, parts[i], result, last, {got[i], reduced});
  }
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
