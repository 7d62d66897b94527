// The input of a fuzz target as decisions: numbers and bytes taken from its front; zeros when it is
// used up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace plumbline {

// What must hold whatever the input is: libFuzzer and the replay take an abort for a defect.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// Reads each of them, so that bytes which are not there are noticed.
inline void touch(std::span<const std::byte> bytes) {
  volatile unsigned sum = 0;
  for (const std::byte byte : bytes) sum = sum + std::to_integer<unsigned>(byte);
}

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  template <typename T = uint8_t>
  T number() {
    T value{};
    const size_t bytes = std::min(sizeof value, left_.size());
    std::memcpy(&value, left_.data(), bytes);
    left_ = left_.subspan(bytes);
    return value;
  }
  // 0 <= result < limit
  size_t below(size_t limit) { return number<uint16_t>() % limit; }
  bool flag() { return number() % 2 == 1; }
  // In memory of exactly their size.
  std::vector<std::byte> bytes(size_t most) {
    const size_t count = std::min(most, left_.size());
    const auto* const first = reinterpret_cast<const std::byte*>(left_.data());
    std::vector<std::byte> taken(first, first + count);
    left_ = left_.subspan(count);
    return taken;
  }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace plumbline
