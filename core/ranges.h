// Questions about whole containers: the algorithms of the standard library without begin() and
// end(), in words that all compilers of the project read. Thread-safe as the containers are.
#pragma once

#include <algorithm>
#include <iterator>

namespace plumbline {

template <typename Range, typename Predicate>
bool any_of(const Range& range, const Predicate& holds) {
  return std::any_of(std::begin(range), std::end(range), holds);
}
template <typename Range, typename Predicate>
bool all_of(const Range& range, const Predicate& holds) {
  return std::all_of(std::begin(range), std::end(range), holds);
}
template <typename Range, typename Predicate>
bool none_of(const Range& range, const Predicate& holds) {
  return std::none_of(std::begin(range), std::end(range), holds);
}

template <typename Range, typename Value>
bool is_in(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

// The first element for which it holds; nullptr when there is none.
template <typename Range, typename Predicate>
auto find_where(Range& range, const Predicate& holds) -> decltype(&*std::begin(range)) {
  const auto found = std::find_if(std::begin(range), std::end(range), holds);
  return found == std::end(range) ? nullptr : &*found;
}

// Ascending, each value once.
template <typename Values>
void sort_unique(Values& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace plumbline
