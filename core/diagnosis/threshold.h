// The form of the tables of thresholds: every number above or below which something is called slow,
// lossy or full stands in one of them with its unit and its reason, so that the word can be argued
// with. The tables: probes/thresholds.h, reports/thresholds.h.
#pragma once

#include <span>

namespace plumbline {

template <typename Id>  // an enum with a row for each of its values
struct ThresholdRow {
  Id id;
  const char* name;
  double value;
  const char* unit;
  const char* reason;
};

template <typename Id>
double threshold_in(std::span<const ThresholdRow<Id>> table, Id id) {
  for (const ThresholdRow<Id>& row : table) {
    if (row.id == id) return row.value;
  }
  return 0;
}

}  // namespace plumbline
