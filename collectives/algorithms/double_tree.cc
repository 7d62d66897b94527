// Two binary trees at once, each for one half of the array: the ranks that are leaves of one are
// inner nodes of the other, so that all of them send and receive about as much, and the depth is
// logarithmic all the same (Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth
// broadcast, reduction and scan", 2009). The root stands above both trees. Sums go up segment by
// segment, because a node has to add two children one after the other; what comes down is forwarded
// byte by byte.
#include <algorithm>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

// One of the two trees over n numbers, 0 = the root. The numbers from 1 on stand in order in a
// binary tree, the odd ones as its leaves.
struct HalfTree {
  const ScheduleRequest& q;
  int index;  // 0, 1

  // The second tree has the same shape over the numbers counted from the other end, or, where that
  // keeps odd ones odd, moved on by one.
  int rank_of(int number) const {
    const int inner = q.size - 1;
    if (index == 1 && number > 0) number = q.size % 2 == 1 ? q.size - number : number % inner + 1;
    return wrap(number + q.root, q.size);
  }
  int number_of(int rank) const {
    for (int number = 0; number < q.size; ++number) {
      if (rank_of(number) == rank) return number;
    }
    return -1;
  }
  // The lowest set bit gives the height above the leaves; above the top stands the root.
  int parent(int number) const {
    const int bit = number & -number;
    const int up = (number ^ bit) | (bit << 1);
    return up < q.size ? up : number ^ bit;
  }
  int parent_rank() const {
    const int number = number_of(q.rank);
    return number == 0 ? -1 : rank_of(parent(number));
  }
  std::vector<int> child_ranks() const {
    const int own = number_of(q.rank);
    std::vector<int> ranks;
    for (int number = 1; number < q.size; ++number) {
      if (parent(number) == own) ranks.push_back(rank_of(number));
    }
    return ranks;
  }
  Range half(BufferId buffer) const { return even_part(buffer, q.count, 2, index); }
};

// What is needed of one tree's way up: segments, and the steps that completed them here.
struct Sums {
  std::vector<Range> at;
  std::vector<StepId> steps;
};

// `message` counts on; at the root the sums are the result.
Sums send_up(ScheduleBuilder& b, const HalfTree& tree, uint32_t& message, BufferId into) {
  const ScheduleRequest& q = tree.q;
  const std::vector<int> children = tree.child_ranks();
  const int parent = tree.parent_rank();
  const Range half = tree.half(BufferId::kIn);
  const uint64_t segment = std::max<uint64_t>(1, q.segment_bytes / q.elem_size);
  const Range room = children.empty() || into == BufferId::kOut
                         ? Range{BufferId::kOut, half.begin, 0}
                         : b.scratch(half.count);
  Sums sums;
  for (uint64_t begin = 0; begin < half.count; begin += std::min(segment, half.count - begin)) {
    const uint64_t count = std::min(segment, half.count - begin);
    Range sum{half.buffer, half.begin + begin, count};
    StepId reduced = kNoStep;
    for (size_t i = 0; i < children.size(); ++i) {
      const Range result{room.buffer, room.begin + begin, count};
      reduced = b.recv_reduce(children[i], message, sum, result,
                              parent < 0 && i + 1 == children.size(), {reduced});
      sum = result;
    }
    if (parent >= 0) b.stream(parent, message, sum, reduced);
    sums.at.push_back(sum);
    sums.steps.push_back(reduced);
    ++message;
  }
  return sums;
}

}  // namespace

Schedule build_broadcast_double_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  for (uint32_t index = 0; index < 2; ++index) {
    const HalfTree tree{q, static_cast<int>(index)};
    const int parent = tree.parent_rank();
    const Range data = tree.half(parent < 0 ? BufferId::kIn : BufferId::kOut);
    const StepId got = parent < 0 ? kNoStep : b.recv(parent, index, data);
    for (const int child : tree.child_ranks()) b.stream(child, index, data, got);
  }
  if (q.rank == q.root) {
    b.copy_own(ScheduleBuilder::in(0, q.count), ScheduleBuilder::out(0, q.count));
  }
  return b.finish();
}

Schedule build_reduce_double_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  uint32_t message = 0;
  const BufferId into = q.rank == q.root ? BufferId::kOut : BufferId::kScratch;
  for (int index = 0; index < 2; ++index) send_up(b, {q, index}, message, into);
  return b.finish();
}

// Up to rank 0 and back down. What comes down overwrites the partial sums, which have left by then.
Schedule build_allreduce_double_tree(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  uint32_t message = 0;
  Sums ups[2];
  for (int index = 0; index < 2; ++index) {
    ups[index] = send_up(b, {q, index}, message, BufferId::kOut);
  }
  for (int index = 0; index < 2; ++index) {
    const HalfTree tree{q, index};
    const int parent = tree.parent_rank();
    for (size_t i = 0; i < ups[index].at.size(); ++i, ++message) {
      Range data = ups[index].at[i];
      data.buffer = BufferId::kOut;
      const StepId got = parent < 0 ? ups[index].steps[i] : b.recv(parent, message, data);
      for (const int child : tree.child_ranks()) b.stream(child, message, data, got);
    }
  }
  return b.finish();
}

}  // namespace plumbline
