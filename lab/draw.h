// Draws from a seed: the same on every platform (the distributions of <random> are not), so that a
// printed seed repeats a lab or a fault exactly. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace plumbline {

class Draw {
 public:
  explicit Draw(std::mt19937_64& random) : random_(random) {}

  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }
  int between(int low, int high) {  // both included
    return low + static_cast<int>(below(static_cast<size_t>(high) - static_cast<size_t>(low) + 1));
  }
  bool coin() { return below(2) == 0; }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  std::string pick(std::initializer_list<const char*> from) {
    return *(from.begin() + below(from.size()));
  }
  // Takes one out of the list.
  template <typename T>
  T take(std::vector<T>& from) {
    const size_t at = below(from.size());
    T out = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return out;
  }
  std::string hex(int digits) {
    std::string out;
    for (int i = 0; i < digits; ++i) out += "0123456789abcdef"[below(16)];
    return out;
  }

 private:
  std::mt19937_64& random_;
};

}  // namespace plumbline
