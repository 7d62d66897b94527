// The terms of --only and --skip: "op=allreduce,broadcast", "bytes>=64Ki", "ring". Pure.
#pragma once

#include <string>
#include <vector>

#include "core/cell.h"
#include "core/error.h"

namespace plumbline {

class FilterTerm {
 public:
  // An Error names the term and what would be accepted. Words must occur in one of the `cells`, so
  // that a misspelt one does not silently select nothing.
  static Expected<FilterTerm> parse(const std::string& text, const std::vector<Cell>& cells);
  bool holds(const Cell& cell) const;

 private:
  enum class Relation { kEqual, kNotEqual, kAtLeast, kAtMost, kAbove, kBelow };
  std::string field_;  // empty = any of the word fields
  Relation relation_ = Relation::kEqual;
  std::vector<std::string> words_;
  std::vector<int64_t> numbers_;  // for fields that are numbers
};

}  // namespace plumbline
