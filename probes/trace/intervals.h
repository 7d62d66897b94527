// Which bytes of a direction a trace has seen, as few ranges as possible. Belongs to one
// comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace plumbline {

class Intervals {
 public:
  static constexpr size_t kMaxHoles = 4096;  // beyond, holes are taken as filled

  // False when all of it was here before.
  bool add(int64_t begin, int64_t end);
  bool covers(int64_t begin, int64_t end) const;
  int64_t highest() const { return ranges_.empty() ? INT64_MIN : ranges_.rbegin()->second; }
  bool empty() const { return ranges_.empty(); }

 private:
  std::map<int64_t, int64_t> ranges_;  // begin -> end, disjoint and not touching
};

}  // namespace plumbline
