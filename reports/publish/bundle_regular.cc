// Samples of one row that look made rather than measured. Thresholds are the constants below;
// bundle_copies.cc holds rows against one another.
#include <fmt/format.h>

#include <map>
#include <numeric>

#include "core/json.h"
#include "reports/publish/bundle_copies.h"
#include "reports/publish/bundle_verify.h"

namespace plumbline {
namespace {

using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;

constexpr uint64_t kEnough = 30;   // samples, below which chance explains anything
constexpr size_t kFewBuckets = 5;  // distinct values of 100 samples; clocks tick at 42 ns or less
constexpr uint64_t kManySamples = 100;
constexpr size_t kManyBuckets = 10;  // all counts even by chance: once in 1000 rows

// Why one histogram is too regular; empty when it is not.
std::string too_regular(const Histogram& h) {
  const Buckets buckets = h.sparse();
  if (h.n() >= kManySamples && buckets.size() < kFewBuckets) {
    return fmt::format("{} samples fall into {} buckets", h.n(), buckets.size());
  }
  if (h.n() < kEnough || buckets.size() < kFewBuckets) return "";
  uint64_t divisor = 0;
  bool even_steps = true;
  for (size_t i = 0; i < buckets.size(); ++i) {
    divisor = std::gcd(divisor, buckets[i].second);
    if (i > 1) {
      even_steps = even_steps &&
                   buckets[i].first - buckets[i - 1].first == buckets[1].first - buckets[0].first;
    }
  }
  if (divisor > 1 && buckets.size() >= kManyBuckets)
    return fmt::format("every bucket holds a multiple of {} samples", divisor);
  const bool one_each = h.n() == buckets.size();
  if (even_steps && one_each) return "samples stand at equal distances";
  return "";
}

}  // namespace

void check_regularity(BundleReport& report) {
  std::vector<RowPlace> places;
  std::map<std::string, std::string> cells;
  for (BundleRow& row : report.rows) {
    const std::string why = too_regular(row.hist);
    if (!why.empty()) {
      report.flags.push_back({"regular", row.path + ".hist", why});
      row.marks.emplace_back("regular");
    }
    const nlohmann::json& data = (*report.document)["content"]["rows"][places.size()];
    const auto [known, is_new] = cells.emplace(
        canonical_json(row.cell) + data["rank_hosts"].dump() + data["resolved"].dump(), row.path);
    if (!is_new) {
      report.problems.push_back(
          {"repeated", row.path + ".cell", "the same cell as " + known->second});
    }
    places.push_back({&report, &row});
  }
  compare_rows(places, false);
}

}  // namespace plumbline
