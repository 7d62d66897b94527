// Which bytes of a direction a trace has seen, as few ranges as possible. Belongs to one
// comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace plumbline {

struct ByteRange {
  int64_t begin = 0, end = 0;
};

class Intervals {
 public:
  static constexpr size_t kMaxHoles = 4096;  // beyond, holes are taken as filled

  // False when all of it was here before.
  bool add(int64_t begin, int64_t end);
  bool covers(int64_t begin, int64_t end) const;
  // The parts of [begin, end) that are not here, ascending.
  std::vector<ByteRange> gaps(int64_t begin, int64_t end) const;

 private:
  std::map<int64_t, int64_t> ranges_;  // begin -> end, disjoint and not touching
};

}  // namespace plumbline
