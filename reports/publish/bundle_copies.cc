// Samples that look made rather than measured: too regular in themselves, or those of another row.
// What two timings share by accident are a median and a few buckets; never most buckets with their
// counts. Of the buckets that either of two independent rows of one distribution fills, at most one
// in five has the same count in both (two Poisson numbers are equal with less than 0.21 where one
// of them is not 0); thresholds are the constants below.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "core/json.h"
#include "reports/publish/bundle_verify.h"

namespace plumbline {
namespace {

using Buckets = std::vector<std::pair<uint32_t, uint64_t>>;

constexpr uint64_t kEnough = 30;     // samples, below which chance explains much
constexpr uint64_t kIdentical = 3;   // samples, from which no two rows are equal in all by chance
constexpr size_t kSameBuckets = 8;   // with both ends equal, and all but one in ten of the buckets
constexpr size_t kMostBuckets = 30;  // whatever the ends, and three in four of the buckets
constexpr double kSpread = 1.05;     // max / min, from where a scaled copy can be told

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
  if (a.n() != b.n() || a.n() < kEnough || !is_wide(a) || !is_wide(b)) return "";
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

// How many buckets either of two rows fills, and how many hold as many samples in both.
struct SharedSamples {
  size_t all = 0, equal = 0;
};

SharedSamples shared_samples(const Buckets& a, const Buckets& b) {
  SharedSamples out;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size(); ++out.all) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) {
      ++i;
    } else if (i == a.size() || b[j].first < a[i].first) {
      ++j;
    } else {
      out.equal += a[i++].second == b[j++].second ? 1 : 0;
    }
  }
  return out;
}

// A row among those of several bundles.
struct RowPlace {
  BundleReport* report;
  BundleRow* row;
};

struct Known {
  RowPlace place;
  Buckets buckets;
};

// In words how far the samples of two rows are the same, or empty.
std::string same_as(const Known& a, const Known& b) {
  const Histogram &x = a.place.row->hist, &y = b.place.row->hist;
  const bool ends = x.min() == y.min() && x.max() == y.max();
  const SharedSamples shared = shared_samples(a.buckets, b.buckets);
  if (ends && x.n() == y.n() && x.sum() == y.sum() && shared.equal == shared.all) {
    return x.n() >= kIdentical ? "the same samples as" : "";
  }
  if (std::min(x.n(), y.n()) < kEnough) return "";
  const bool most = shared.all >= kMostBuckets && 4 * shared.equal >= 3 * shared.all;
  const size_t spared = std::max<size_t>(1, shared.all / 10);
  const bool nearly = ends && shared.all >= kSameBuckets && shared.equal + spared >= shared.all;
  if (!most && !nearly) return "";
  return fmt::format("{} of {} buckets hold as many samples as those of", shared.equal, shared.all);
}

// Rows with many (bucket, count) pairs in common share one of these keys: the smallest hashes of
// all pairs, under several hash functions (min-wise hashing, Broder 1997). With 3 in 4 buckets
// equal two rows miss each other once in 1500 times, with 9 in 10 once in a million.
std::array<uint64_t, 8> keys_of(const Buckets& buckets) {
  std::array<uint64_t, 8> keys{};
  keys.fill(UINT64_MAX);
  for (const auto& [bucket, count] : buckets) {
    for (size_t i = 0; i < keys.size(); ++i) {
      uint64_t x =
          (static_cast<uint64_t>(bucket) << 32) ^ count ^ (0x9E3779B97F4A7C15ULL * (i + 1));
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;  // splitmix64 (Steele et al. 2014)
      x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
      keys[i] = std::min(keys[i], x ^ (x >> 31));
    }
  }
  return keys;
}

std::string place_name(const RowPlace& place, const RowPlace& from) {
  return place.report == from.report ? place.row->path : place.report->id + " " + place.row->path;
}

// Once for each row and kind.
void say(const RowPlace& about, const RowPlace& other, const std::string& how, const char* kind) {
  std::vector<std::string>& marks = about.row->marks;
  if (std::find(marks.begin(), marks.end(), kind) != marks.end()) return;
  marks.emplace_back(kind);
  const bool certain = std::string_view(kind) == "repeated";
  std::vector<BundleIssue>& list = certain ? about.report->problems : about.report->flags;
  list.push_back({kind, about.row->path + ".hist", how + " " + place_name(other, about)});
}

bool comparable(const RowPlace& a, const RowPlace& b, bool across) {
  return across == (a.report != b.report);
}

// Whether an earlier row has the same samples; says so of both.
bool find_same(const std::vector<Known>& known, size_t at, const std::set<size_t>& candidates,
               bool across) {
  for (const size_t other : candidates) {
    if (!comparable(known[at].place, known[other].place, across)) continue;
    const std::string how = same_as(known[at], known[other]);
    if (how.empty()) continue;
    say(known[other].place, known[at].place, how, "repeated");
    say(known[at].place, known[other].place, how, "repeated");
    return true;
  }
  return false;
}

void find_scaled(const RowPlace& place, const std::vector<RowPlace>& same_n, bool across) {
  for (const RowPlace& other : same_n) {
    if (!comparable(place, other, across)) continue;
    const std::string forth = made_from(other.row->hist, place.row->hist);
    if (forth.empty()) continue;
    say(other, place, forth, "scaled");
    const std::string back = made_from(place.row->hist, other.row->hist);
    say(place, other, back.empty() ? "samples as regular as those of" : back, "scaled");
    return;
  }
}

// Samples of one row that look made rather than measured.
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

// Finds rows whose samples are those of another row: the same ones, most of them, or all of them
// times a constant. Bounded: a row is told its first match of each kind only, so that a bundle of
// equal rows makes no list of all their pairs. Adds problems (`repeated`), flags (`scaled`) and
// marks to the reports. `across`: rows of one bundle are not held against one another, because
// check_regularity has done so.
void compare_rows(const std::vector<RowPlace>& places, bool across) {
  std::vector<Known> known;
  std::map<std::pair<size_t, uint64_t>, std::vector<size_t>> by_key;
  std::map<uint64_t, std::vector<RowPlace>> by_n;
  for (const RowPlace& place : places) {
    const size_t at = known.size();
    known.push_back({place, place.row->hist.sparse()});
    const std::array<uint64_t, 8> keys = keys_of(known.back().buckets);
    std::set<size_t> candidates;
    for (size_t i = 0; i < keys.size(); ++i) {
      std::vector<size_t>& rows = by_key[{i, keys[i]}];
      candidates.insert(rows.begin(), rows.end());
      rows.push_back(at);
    }
    std::vector<RowPlace>& same_n = by_n[place.row->hist.n()];
    if (!find_same(known, at, candidates, across)) find_scaled(place, same_n, across);
    same_n.push_back(place);
  }
}

}  // namespace

void compare_bundles(std::vector<BundleReport>& bundles) {
  std::vector<RowPlace> places;
  for (BundleReport& report : bundles) {
    for (BundleRow& row : report.rows) places.push_back({&report, &row});
  }
  compare_rows(places, true);
}

void check_regularity(BundleReport& report) {
  std::vector<RowPlace> places;
  std::map<std::string, std::string> cells;
  for (BundleRow& row : report.rows) {
    const std::string why = too_regular(row.hist);
    if (!why.empty()) {
      report.flags.push_back({"regular", row.path + ".hist", why});
      row.marks.emplace_back("regular");
    }
    const nlohmann::json& data = content_of(report)["rows"][places.size()];
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
