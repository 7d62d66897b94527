#include "probes/traces/byte_layers.h"

namespace plumbline {

void ByteLayers::add(int64_t begin, int64_t end, const Part& part) {
  std::vector<ByteRange> parts = {{begin, end}}, deeper;
  for (size_t layer = 0; layer < kLayers && !parts.empty(); ++layer) {
    deeper.clear();
    for (const ByteRange& range : parts) {
      int64_t at = range.begin;
      for (const ByteRange& gap : layers_[layer].gaps(range.begin, range.end)) {
        if (gap.begin > at) deeper.push_back({at, gap.begin});
        if (part) part(layer, gap.begin, gap.end);
        at = gap.end;
      }
      if (at < range.end) deeper.push_back({at, range.end});
      layers_[layer].add(range.begin, range.end);
    }
    parts.swap(deeper);
  }
}

int64_t ByteLayers::lacking(size_t layer, int64_t begin, int64_t end) const {
  int64_t bytes = 0;
  for (const ByteRange& gap : layers_[layer].gaps(begin, end)) bytes += gap.end - gap.begin;
  return bytes;
}

}  // namespace plumbline
