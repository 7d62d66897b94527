#include "scenarios/problems.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {

void Problems::add(std::string where, std::string message, std::string hint) {
  if (list_.size() < kMaxProblems) {
    list_.push_back({std::move(where), std::move(message), std::move(hint)});
  } else {
    ++dropped_;
  }
}

bool Problems::has(const std::string& where) const {
  return std::any_of(list_.begin(), list_.end(), [&where](const ScenarioProblem& problem) {
    if (problem.where.compare(0, where.size(), where) != 0) return false;
    const char next = problem.where.size() == where.size() ? '.' : problem.where[where.size()];
    return next == '.' || next == '[';
  });
}

std::vector<ScenarioProblem> Problems::take() {
  if (dropped_ > 0) {
    list_.push_back({list_.back().where, fmt::format("and {} more problems", dropped_),
                     "correct the first ones, then run it again"});
  }
  dropped_ = 0;
  return std::exchange(list_, {});
}

}  // namespace plumbline
