// Scenarios that are wrong, each in one way, with where and in which words that must be said, and
// whether a JSON Schema can say it too. The parser's tests and the schema's tests share them.
#pragma once

#include <vector>

namespace plumbline::scenario_test {

struct BrokenSample {
  const char* name;
  const char* text;
  const char* where;   // the start of the problem's place
  const char* words;   // in the message or the hint
  const char* beyond;  // why a JSON Schema cannot refuse it; nullptr = ours does
};

const std::vector<BrokenSample>& broken_samples();

}  // namespace plumbline::scenario_test
