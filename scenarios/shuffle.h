// A shuffle that gives the same order for the same seed on every platform: Fisher-Yates (Knuth,
// The Art of Computer Programming, vol. 2, 3.4.2) over SplitMix64 (Steele, Lea & Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014). std::shuffle leaves that to the
// library. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace plumbline {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound > 0: values that would favour small results are thrown away.
  uint64_t below(uint64_t bound) {
    const uint64_t reject_below = (0 - bound) % bound;  // 2^64 mod bound
    uint64_t value = next();
    while (value < reject_below) value = next();
    return value % bound;
  }

 private:
  uint64_t state_;
};

template <typename T>
void shuffle(std::vector<T>& values, SplitMix64& random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random.below(i)]);
  }
}

}  // namespace plumbline
