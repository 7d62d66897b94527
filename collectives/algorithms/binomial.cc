// Gather and scatter along a binomial tree: ceil(log2 n) messages deep, at the price that parts
// travel several times. Ranks are numbered from the root; the subtree of a number with lowest set
// bit b are the b numbers from it on, and its parts travel together.
#include <algorithm>

#include "collectives/schedule_builder.h"

namespace plumbline {
namespace {

struct Subtree {
  const ScheduleRequest& q;
  int first;   // number of its root
  int length;  // numbers

  Subtree(const ScheduleRequest& request, int number) : q(request), first(number) {
    const int most = number == 0 ? request.size : number & -number;
    length = std::min(most, request.size - number);
  }
  int rank() const { return wrap(first + q.root, q.size); }
  int parent() const { return wrap((first & (first - 1)) + q.root, q.size); }
  std::vector<Subtree> children() const {
    std::vector<Subtree> all;
    for (int bit = 1; bit < length; bit *= 2) all.emplace_back(q, first + bit);
    return all;
  }
  // Its parts in the array of the root, where those after the last rank go on at the beginning: one
  // message each.
  std::vector<Range> in_array(BufferId buffer) const {
    const int head = std::min(length, q.size - rank());
    const uint64_t begin = q.count * static_cast<uint64_t>(rank());
    return {{buffer, begin, q.count * static_cast<uint64_t>(head)},
            {buffer, 0, q.count * static_cast<uint64_t>(length - head)}};
  }
  // The same in the memory of a rank whose own part comes first.
  std::vector<Range> in_memory(const Range& memory, int owner) const {
    std::vector<Range> ranges = in_array(memory.buffer);
    uint64_t at = memory.begin + q.count * static_cast<uint64_t>(first - owner);
    for (Range& range : ranges) {
      range.begin = at;
      at += range.count;
    }
    return ranges;
  }
};

Range own_part(const Range& memory, uint64_t count) { return {memory.buffer, memory.begin, count}; }

}  // namespace

Schedule build_gather_binomial(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Subtree own(q, wrap(q.rank - q.root, q.size));
  const bool is_root = own.first == 0;
  const Range mine = ScheduleBuilder::in(0, q.count);
  if (!is_root && own.length == 1) {
    b.send(own.parent(), 0, mine);
    return b.finish();
  }
  const Range memory = b.scratch(is_root ? 0 : q.count * static_cast<uint64_t>(own.length));
  std::vector<StepId> there;
  for (const Subtree& child : own.children()) {
    const std::vector<Range> parts =
        is_root ? child.in_array(BufferId::kOut) : child.in_memory(memory, own.first);
    for (uint32_t i = 0; i < parts.size(); ++i) {
      there.push_back(b.recv(child.rank(), i, parts[i]));
    }
  }
  if (is_root) {
    b.copy_own(mine, block(BufferId::kOut, q.count, q.rank));
    return b.finish();
  }
  there.push_back(b.copy(mine, own_part(memory, q.count)));
  const std::vector<Range> parts = own.in_memory(memory, own.first);
  for (uint32_t i = 0; i < parts.size(); ++i) b.send(own.parent(), i, parts[i], there);
  return b.finish();
}

Schedule build_scatter_binomial(const ScheduleRequest& q) {
  ScheduleBuilder b(q);
  const Subtree own(q, wrap(q.rank - q.root, q.size));
  const bool is_root = own.first == 0;
  const Range mine = ScheduleBuilder::out(0, q.count);
  if (!is_root && own.length == 1) {
    b.recv(own.parent(), 0, mine);
    return b.finish();
  }
  const Range memory = b.scratch(is_root ? 0 : q.count * static_cast<uint64_t>(own.length));
  std::vector<StepId> there;
  if (!is_root) {
    const std::vector<Range> parts = own.in_memory(memory, own.first);
    for (uint32_t i = 0; i < parts.size(); ++i) there.push_back(b.recv(own.parent(), i, parts[i]));
  }
  const std::vector<Subtree> children = own.children();
  for (size_t child = children.size(); child-- > 0;) {  // the deepest first
    const std::vector<Range> parts = is_root ? children[child].in_array(BufferId::kIn)
                                             : children[child].in_memory(memory, own.first);
    for (uint32_t i = 0; i < parts.size(); ++i) {
      b.send(children[child].rank(), i, parts[i], there);
    }
  }
  if (is_root) {
    b.copy_own(block(BufferId::kIn, q.count, q.rank), mine);
  } else {
    b.copy(own_part(memory, q.count), mine, there);
  }
  return b.finish();
}

}  // namespace plumbline
