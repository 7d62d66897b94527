// The values of a row that follow from its histogram and its cell. All of them are whole numbers or
// decimal texts, made with integers alone, so that two machines agree to the last digit and
// `verify` can ask for equality. On the same histogram they are those of core/stats/stats.h, cut
// off where that one rounds. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/record/cell.h"
#include "core/stats/stats.h"
#include "reports/publish/bundle.h"

namespace plumbline {

// Requires 1 <= n <= 10^7 and values of at most 60 s, as the schema says.
nlohmann::json derive_row(const Cell& cell, const Histogram& histogram);

// Twice the median: the mean of two whole numbers has a half.
uint64_t twice_p50(const Histogram& histogram);

// Whether a histogram that fits the schema can be one at all; `path` is where it stands.
std::vector<BundleIssue> histogram_issues(const nlohmann::json& hist, const std::string& path);
// Requires that histogram_issues found nothing.
Histogram histogram_from(const nlohmann::json& hist);

// Bus bandwidth factor as numerator over `ranks` (core/op.h): 2 (n - 1), n - 1, n or 0.
uint64_t bus_numerator(const Cell& cell);

}  // namespace plumbline
