// For tests of messages that go from memory to memory: a channel that offers them all, and a sink
// that uses bytes where they lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "tests/transport/channel_pair.h"

namespace plumbline::test {

inline ChannelOptions direct(size_t from_bytes = 1) {
  ChannelOptions options;
  options.direct_bytes = from_bytes;
  return options;
}

// Uses bytes where they lie.
class UseSink : public CollectSink {
 public:
  explicit UseSink(size_t bytes) : CollectSink(bytes) {}
  size_t usable(std::span<const std::byte> bytes) override { return bytes.size(); }
  void use(std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), window().begin());
    advance(bytes.size());
    used += bytes.size();
  }
  size_t used = 0;
};

}  // namespace plumbline::test
