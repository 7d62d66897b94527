// What the tests of importers share: a sample file or a text as results, or what is said of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/exchange_samples.h"

namespace plumbline::samples {

inline ImportResult imported(const std::string& name, const std::vector<std::string>& words = {}) {
  const auto assume = parse_assumptions(words);
  EXPECT_TRUE(assume);
  const auto out = import_file(sample_path(name), *assume);
  EXPECT_TRUE(out) << out.error().message();
  if (!out || !*out) {
    ADD_FAILURE() << name << " was not imported";
    return {};
  }
  return **out;
}

inline const Reported& told(const Record& record) { return *record.measurement.reported; }

inline std::string error_of(const std::string& text, const std::vector<std::string>& words = {}) {
  const auto assume = parse_assumptions(words);
  const auto out = import_of(text, assume ? *assume : Assumptions{});
  return out ? "no error" : out.error().message();
}

}  // namespace plumbline::samples
