// Samples that look made rather than measured. What two timings share by accident are a median and
// a few buckets; never every bucket and both ends. Thresholds are the constants below.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/json.h"
#include "reports/bundle_verify.h"

namespace plumbline {
namespace {

using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;

constexpr uint64_t kEnough = 30;   // samples, below which chance explains anything
constexpr size_t kFewBuckets = 5;  // distinct values of 100 samples; clocks tick at 42 ns or less
constexpr uint64_t kManySamples = 100;
constexpr size_t kSameBuckets = 8;   // equal histograms with so many buckets are no accident
constexpr size_t kManyBuckets = 10;  // all counts even by chance: once in 1000 rows
constexpr double kSpread = 1.05;     // max / min, from where a scaled copy can be told

bool enough(const Histogram& h) { return h.n() >= kEnough; }

// Why one histogram is too regular; empty when it is not.
std::string too_regular(const Histogram& h) {
  const Buckets buckets = h.sparse();
  if (h.n() >= kManySamples && buckets.size() < kFewBuckets) {
    return fmt::format("{} samples fall into {} buckets", h.n(), buckets.size());
  }
  if (!enough(h) || buckets.size() < kFewBuckets) return "";
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

// The interval of constants c for which all samples of `a` can be c times (or c plus) those of `b`,
// rank by rank; `first` > `second` = none.
struct Interval {
  double first, second;
  bool empty() const { return first > second; }
};

struct Walker {
  explicit Walker(const Histogram& h)
      : buckets(h.sparse()), left(buckets.empty() ? 0 : buckets[0].second) {}
  Buckets buckets;
  size_t at = 0;
  uint64_t left;
  double low() const { return static_cast<double>(Histogram::bucket_low(buckets[at].first)); }
  double high() const { return static_cast<double>(Histogram::bucket_low(buckets[at].first + 1)); }
  void take(uint64_t count) {
    left -= count;
    if (left == 0 && ++at < buckets.size()) left = buckets[at].second;
  }
};

std::pair<Interval, Interval> constants_between(const Histogram& a, const Histogram& b) {
  Interval factor{0, 1e18}, offset{-1e18, 1e18};
  const auto narrow = [](Interval& interval, double low, double high) {
    interval = {std::max(interval.first, low), std::min(interval.second, high)};
  };
  // Both ends are exact, so a copy must fit them to the rounding of one nanosecond.
  const std::pair<int64_t, int64_t> ends[] = {{a.min(), b.min()}, {a.max(), b.max()}};
  for (const auto& [mine, other] : ends) {
    const auto p = static_cast<double>(mine), q = static_cast<double>(other);
    narrow(factor, (p - 1) / (q + 1), (p + 1) / std::max(1.0, q - 1));
    narrow(offset, p - q - 1, p - q + 1);
  }
  if (factor.empty() && offset.empty()) return {factor, offset};
  Walker x(a), y(b);
  while (x.at < x.buckets.size() && y.at < y.buckets.size() &&
         !(factor.empty() && offset.empty())) {
    narrow(factor, x.low() / std::max(1.0, y.high()), x.high() / std::max(1.0, y.low()));
    narrow(offset, x.low() - y.high(), x.high() - y.low());
    const uint64_t both = std::min(x.left, y.left);
    x.take(both);
    y.take(both);
  }
  return {factor, offset};
}

bool is_wide(const Histogram& h) {
  return static_cast<double>(h.max()) > kSpread * static_cast<double>(h.min());
}

// In words how `a` was made from `b`, or empty.
std::string made_from(const Histogram& a, const Histogram& b) {
  if (a.n() != b.n() || !enough(a) || !is_wide(a) || !is_wide(b)) return "";
  const auto [factor, offset] = constants_between(a, b);
  if (!factor.empty()) {
    return fmt::format("all samples are {:.4f} times those of", (factor.first + factor.second) / 2);
  }
  if (!offset.empty()) {
    return fmt::format("all samples are {:.0f} ns more than those of",
                       (offset.first + offset.second) / 2);
  }
  return "";
}

bool same_samples(const Histogram& a, const Histogram& b) {
  return enough(a) && a.n() == b.n() && a.min() == b.min() && a.max() == b.max() &&
         a.sparse().size() >= kSameBuckets && a.sparse() == b.sparse();
}

struct Place {
  BundleReport* report;
  BundleRow* row;
};

std::string name_of(const Place& place, const Place& from) {
  return place.report == from.report ? place.row->path : place.report->id + " " + place.row->path;
}

void say(const Place& about, const Place& other, const std::string& how, bool certain) {
  std::vector<BundleIssue>& list = certain ? about.report->problems : about.report->flags;
  const char* kind = certain ? "repeated" : "scaled";
  list.push_back({kind, about.row->path + ".hist", how + " " + name_of(other, about)});
  std::vector<std::string>& marks = about.row->marks;
  if (std::find(marks.begin(), marks.end(), kind) == marks.end()) marks.emplace_back(kind);
}

// Every two rows with the same number of samples. `across`: only rows of different bundles.
void compare(const std::vector<Place>& places, bool across) {
  std::map<uint64_t, std::vector<Place>> by_n;
  for (const Place& place : places) by_n[place.row->hist.n()].push_back(place);
  for (const auto& [n, same_n] : by_n) {
    for (size_t i = 0; i < same_n.size(); ++i) {
      for (size_t j = i + 1; j < same_n.size(); ++j) {
        const Place &a = same_n[i], &b = same_n[j];
        if (across == (a.report == b.report)) continue;
        if (same_samples(a.row->hist, b.row->hist)) {
          say(a, b, "the same samples as", true);
          say(b, a, "the same samples as", true);
          continue;
        }
        const std::string forth = made_from(a.row->hist, b.row->hist);
        if (forth.empty()) continue;
        say(a, b, forth, false);
        const std::string back = made_from(b.row->hist, a.row->hist);
        say(b, a, back.empty() ? "samples as regular as those of" : back, false);
      }
    }
  }
}

}  // namespace

void check_regularity(BundleReport& report) {
  std::vector<Place> places;
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
  compare(places, false);
}

void compare_bundles(std::vector<BundleReport>& bundles) {
  std::vector<Place> places;
  for (BundleReport& report : bundles) {
    for (BundleRow& row : report.rows) places.push_back({&report, &row});
  }
  compare(places, true);
}

}  // namespace plumbline
