// Exit codes, where several apply: what the user must know first wins.
#pragma once

#include <algorithm>
#include <array>

namespace plumbline {

struct ExitCodeRow {
  int code;
  const char* meaning;
};

// What the user must know first stands first.
inline constexpr std::array kExitCodes = {
    ExitCodeRow{130, "interrupted"},
    ExitCodeRow{124, "a deadline has passed"},
    ExitCodeRow{1, "usage or configuration, told before anything starts"},
    ExitCodeRow{3, "wrong data, or content that does not verify"},
    ExitCodeRow{2, "a connection, probe or cell failed, or nothing was measured"},
    ExitCodeRow{5, "slower than before"},
    ExitCodeRow{4, "below a rule"},
    ExitCodeRow{6, "undecided (with --strict)"},
    ExitCodeRow{0, "all well; warnings and notes are"},
};

inline int worse_exit_code(int x, int y) {
  const auto place = [](int code) {
    return std::find_if(kExitCodes.begin(), kExitCodes.end(),
                        [code](const ExitCodeRow& row) { return row.code == code; });
  };
  return place(x) < place(y) ? x : y;
}

}  // namespace plumbline
