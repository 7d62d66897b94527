// How often which bytes of a direction were seen: the first layer has those that were seen at all,
// the second those that were seen twice, and so on. Belongs to one comparison.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "probes/traces/intervals.h"

namespace plumbline {

class ByteLayers {
 public:
  static constexpr size_t kLayers = 8;  // repetitions behind the last are not counted

  // Notes [begin, end) and says which parts of it were seen for which time: 0 the first.
  using Part = std::function<void(size_t layer, int64_t begin, int64_t end)>;
  void add(int64_t begin, int64_t end, const Part& part = {});
  // How many of these bytes were seen `layer` times at most.
  int64_t lacking(size_t layer, int64_t begin, int64_t end) const;

 private:
  std::array<Intervals, kLayers> layers_;
};

}  // namespace plumbline
