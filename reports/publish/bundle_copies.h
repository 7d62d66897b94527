// Rows whose samples are those of another row: the same ones, most of them, or all of them times a
// constant. Bounded: a row is told its first match of each kind only, so that a bundle of equal
// rows makes no list of all their pairs.
#pragma once

#include <vector>

#include "reports/publish/bundle_verify.h"

namespace plumbline {

struct RowPlace {
  BundleReport* report;
  BundleRow* row;
};

// Adds problems (`repeated`), flags (`scaled`) and marks to the reports. `across`: rows of one
// bundle are not held against one another, because check_regularity has done so.
void compare_rows(const std::vector<RowPlace>& places, bool across);

}  // namespace plumbline
