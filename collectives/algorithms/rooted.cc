// Algorithms from one rank to all or back, along trees and chains.
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

}  // namespace plumbline
