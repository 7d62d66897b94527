// The list of what is wrong with a scenario. It grows to a bound only, so that a hostile or
// machine-made file cannot flood the terminal. Not thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/hint.h"  // for whoever reports a problem
#include "scenarios/scenario.h"

namespace plumbline {

inline constexpr size_t kMaxProblems = 50;

class Problems {
 public:
  void add(std::string where, std::string message, std::string hint = {});
  bool empty() const { return list_.empty(); }
  // Is something at this place, or within it, already known to be wrong? Then what only follows
  // from it need not be said.
  bool has(const std::string& where) const;
  // The first kMaxProblems, and a line that says so when there were more.
  std::vector<ScenarioProblem> take();

 private:
  std::vector<ScenarioProblem> list_;
  size_t dropped_ = 0;
};

}  // namespace plumbline
