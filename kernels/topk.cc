#include "kernels/topk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace plumbline {
namespace {

constexpr size_t kSample = 4096;      // elements looked at to guess what the k-th largest will be
constexpr size_t kBlock = 16;         // elements that are passed over at once
constexpr size_t kSlice = 16 * 1024;  // made, and then looked at while they are in the cache

// Without the sign, magnitudes are ordered as their bits are.
uint32_t magnitude(const float* value) {
  uint32_t bits = 0;
  std::memcpy(&bits, value, sizeof bits);
  return bits & 0x7fffffffU;
}

// A loop without branches, which compilers make vectors of; signed, as the comparison of SSE2 is.
bool any_reaches(const float* values, uint32_t least) {
  int32_t any = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    any |= static_cast<int32_t>(magnitude(values + i)) >= static_cast<int32_t>(least) ? 1 : 0;
  }
  return any != 0;
}

// Magnitudes of the elements that `value` gives, evenly over the array, largest first.
template <typename Value>
void take_sample(size_t count, const Value& value, std::vector<uint32_t>* sample) {
  const size_t number = std::min(count, kSample);
  sample->clear();
  for (size_t i = 0; i < number; ++i) {
    const float one = value(i * count / number);
    sample->push_back(magnitude(&one));
  }
  std::sort(sample->begin(), sample->end(), std::greater<>());
}

}  // namespace

void topk_reference(const float* values, size_t count, size_t k, uint32_t* indices, float* chosen) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [values](uint32_t a, uint32_t b) {
    const uint32_t x = magnitude(values + a), y = magnitude(values + b);
    return x != y ? x > y : a < b;
  });
  order.resize(k);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < k; ++i) {
    indices[i] = order[i];
    chosen[i] = values[order[i]];
  }
}

TopkSelector::TopkSelector(size_t most) {
  sample_.reserve(std::min(most, kSample));
  candidates_.reserve(most);
  magnitudes_.reserve(most);
}

void TopkSelector::collect(const float* values, size_t begin, size_t end, uint32_t least) {
  for (; begin < end; begin += kBlock) {
    const bool whole = end - begin >= kBlock;
    if (whole && !any_reaches(values + begin, least)) continue;
    const size_t stop = whole ? begin + kBlock : end;
    for (size_t i = begin; i < stop; ++i) {
      const uint32_t size = magnitude(values + i);
      if (size < least) continue;
      candidates_.push_back(static_cast<uint32_t>(i));
      magnitudes_.push_back(size);
    }
  }
}

void TopkSelector::select(const float* values, size_t count, size_t k, uint32_t* indices,
                          float* chosen) {
  if (k == 0) return;
  take_sample(
      count, [values](size_t i) { return values[i]; }, &sample_);
  choose(values, nullptr, count, k, indices, chosen);
}

void TopkSelector::select_sums(float* sums, const float* addends, ReduceFn add, size_t count,
                               size_t k, uint32_t* indices, float* chosen) {
  if (k == 0) return add(sums, sums, addends, count);
  take_sample(
      count, [=](size_t i) { return sums[i] + addends[i]; }, &sample_);
  const Make make = [=](size_t begin, size_t some) {
    add(sums + begin, sums + begin, addends + begin, some);
  };
  choose(sums, make, count, k, indices, chosen);
}

void TopkSelector::choose(const float* values, const Make& make, size_t count, size_t k,
                          uint32_t* indices, float* chosen) {
  // Of a sample of m, about m k / count are among the k largest, give or take the root of it: three
  // times that, and some more, and nearly every sample gives enough.
  const double expected =
      static_cast<double>(sample_.size()) * static_cast<double>(k) / static_cast<double>(count);
  auto rank = static_cast<size_t>(1.1 * expected + 3 * std::sqrt(expected)) + 1;
  bool made = make == nullptr;
  do {
    const uint32_t least = rank < sample_.size() ? sample_[rank] : 0;
    candidates_.clear();
    magnitudes_.clear();
    for (size_t begin = 0; begin < count; begin += kSlice) {
      const size_t some = std::min(kSlice, count - begin);
      if (!made) make(begin, some);
      collect(values, begin, begin + some, least);
    }
    made = true;
    rank *= 4;
  } while (candidates_.size() < k);

  // The k-th largest, and how many of its equals are among the k.
  const auto kth = magnitudes_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes_.begin(), kth, magnitudes_.end(), std::greater<>());
  const uint32_t least = *kth;
  auto equals = static_cast<size_t>(
      std::count(magnitudes_.begin(), magnitudes_.begin() + static_cast<std::ptrdiff_t>(k), least));
  size_t at = 0;
  for (const uint32_t index : candidates_) {
    const uint32_t size = magnitude(values + index);
    if (size < least || (size == least && equals == 0)) continue;
    if (size == least) --equals;
    indices[at] = index;
    chosen[at++] = values[index];
  }
}

}  // namespace plumbline
