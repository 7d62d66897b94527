// Exit codes, where several apply: what the user must know first wins.
#pragma once

#include <algorithm>
#include <array>

namespace plumbline {

// 130 interrupted, 124 deadline, 1 usage, 3 wrong data, 2 something failed, 5 slower than before, 4
// below a rule, 6 undecided (--strict), 0.
inline int worse_exit_code(int x, int y) {
  constexpr std::array kOrder = {130, 124, 1, 3, 2, 5, 4, 6, 0};
  return std::find(kOrder.begin(), kOrder.end(), x) < std::find(kOrder.begin(), kOrder.end(), y)
             ? x
             : y;
}

}  // namespace plumbline
