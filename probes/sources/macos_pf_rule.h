// One line of what `pfctl -s rules` prints, pf.conf(5), as a rule in normal form that has no place
// yet: where it stands among the others, and what anchors around it demand, is added by
// macos_filters.cc. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probes/filters/filter_rule.h"

namespace plumbline {

struct PfRule {
  // Interfaces are a condition "interface" yet, which becomes "iif" or "oif" with the direction.
  FilterRule rule;
  std::string direction;  // "in" | "out"; empty = both
  bool quick = false;     // decides at once; others only when no later one matches
  bool state = false;     // the connections that it lets pass are remembered
};

// Of the words of a line that begins with "block" or "pass".
PfRule read_pf_rule(const std::vector<std::string_view>& words);
// The conditions behind an anchor's name; there is no action.
PfRule read_pf_conditions(const std::vector<std::string_view>& words);

}  // namespace plumbline
