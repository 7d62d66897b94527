#include "reports/publish/bundle_derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/op.h"
#include "reports/publish/bundle_words.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kMeanDigits = 9;  // one part in n = 10^7 samples still shows

uint64_t at_rank(const Histogram& h, uint64_t rank) {
  if (rank <= 1) return static_cast<uint64_t>(h.min());
  return static_cast<uint64_t>(rank >= h.n() ? h.max() : h.value_at_rank(rank));
}

// The least whole number whose square is at least v < 2^62.
uint64_t root_up(uint64_t v) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(v)));
  while (root * root >= v && root > 0) --root;
  while (root * root < v) ++root;
  return root;
}

// floor((n - 1.96 sqrt n) / 2) and ceil(1 + (n + 1.96 sqrt n) / 2) with 1.96 sqrt n =
// sqrt(38416 n) / 100; see median_ci_ranks().
json ci_of(const Histogram& h) {
  const uint64_t n = h.n();
  if (n < 6) return nullptr;
  const uint64_t spread = root_up(38416 * n);
  const uint64_t low = 100 * n > spread ? (100 * n - spread) / 200 : 0;
  const uint64_t high = 1 + (100 * n + spread + 199) / 200;
  return {at_rank(h, std::clamp<uint64_t>(low, 1, n)),
          at_rank(h, std::clamp<uint64_t>(high, 1, n))};
}

// The quantile of `permille`, where at least ten samples lie beyond it.
json quantile_of(const Histogram& h, uint64_t permille) {
  if (h.n() * (1000 - permille) < 10'000) return nullptr;
  return at_rank(h, (h.n() * permille + 999) / 1000);
}

uint64_t middle_of(const Histogram& h, uint32_t bucket) {
  return static_cast<uint64_t>(std::clamp(Histogram::bucket_mid(bucket), h.min(), h.max()));
}

std::string mad_of(const Histogram& h) {
  const uint64_t median = twice_p50(h);
  std::vector<std::pair<uint64_t, uint64_t>> distances;  // twice the distance, count
  for (const auto& [bucket, count] : h.sparse()) {
    const uint64_t value = 2 * middle_of(h, bucket);
    distances.emplace_back(value > median ? value - median : median - value, count);
  }
  std::sort(distances.begin(), distances.end());
  uint64_t seen = 0;
  for (const auto& [distance, count] : distances) {
    seen += count;
    if (2 * seen >= h.n()) return decimal_text(distance, 2, 1);
  }
  return "0.0";
}

// Bytes moved by the definition of algbw, times two because the median is.
Wide twice_moved(const Cell& cell) {
  return static_cast<Wide>(cell.bytes) * (cell.op == "pingpong" ? 4 : 2);
}

uint64_t bucket_high(uint32_t bucket) {
  return static_cast<uint64_t>(Histogram::bucket_low(bucket + 1)) - 1;
}

}  // namespace

uint64_t twice_p50(const Histogram& h) {
  return at_rank(h, (h.n() + 1) / 2) + at_rank(h, h.n() / 2 + 1);
}

uint64_t bus_numerator(const Cell& cell) {
  const std::optional<Op> op = op_from(cell.op);
  if (!op || cell.ranks < 1) return 0;
  return static_cast<uint64_t>(std::llround(row(*op).bus_factor(cell.ranks) * cell.ranks));
}

json derive_row(const Cell& cell, const Histogram& h) {
  uint64_t middles = 0;
  for (const auto& [bucket, count] : h.sparse()) {
    middles += count * static_cast<uint64_t>(Histogram::bucket_mid(bucket));
  }
  json derived = {{"n", h.n()},
                  {"min_ns", static_cast<uint64_t>(h.min())},
                  {"p50_ns", decimal_text(twice_p50(h), 2, 1)},
                  {"p50_ci95_ns", ci_of(h)},
                  {"p90_ns", quantile_of(h, 900)},
                  {"p95_ns", quantile_of(h, 950)},
                  {"p99_ns", quantile_of(h, 990)},
                  {"p999_ns", quantile_of(h, 999)},
                  {"max_ns", static_cast<uint64_t>(h.max())},
                  {"mean_ns", decimal_text(h.sum(), h.n(), kMeanDigits)},
                  {"mad_ns", mad_of(h)},
                  {"mid_sum_ns", middles},
                  {"algbw_Bps", nullptr},
                  {"busbw_Bps", nullptr}};
  const uint64_t twice = twice_p50(h);
  if (cell.bytes == 0 || twice == 0 || cell.ranks < 1) return derived;
  constexpr uint64_t kPerSecond = 1'000'000'000;
  const Wide moved = twice_moved(cell) * kPerSecond;
  const auto ranks = static_cast<uint64_t>(cell.ranks);
  derived["algbw_Bps"] = static_cast<uint64_t>(moved / twice);
  derived["busbw_Bps"] =
      static_cast<uint64_t>(moved * bus_numerator(cell) / (static_cast<Wide>(twice) * ranks));
  return derived;
}

std::vector<BundleIssue> histogram_issues(const json& hist, const std::string& path) {
  std::vector<BundleIssue> issues;
  const auto wrong = [&](const std::string& field, std::string text) {
    issues.push_back({"derived", path + "." + field, std::move(text)});
  };
  const auto n = hist["n"].get<uint64_t>(), min = hist["min"].get<uint64_t>(),
             max = hist["max"].get<uint64_t>(), sum = hist["sum"].get<uint64_t>();
  uint64_t counted = 0, least = 0, most = 0;
  std::optional<uint32_t> before;
  const json& buckets = hist["buckets"];
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto bucket = buckets[i][0].get<uint64_t>(), count = buckets[i][1].get<uint64_t>();
    if (bucket + 1 >= Histogram::bucket_count()) {
      wrong(fmt::format("buckets[{}][0]", i),
            fmt::format("is {}, there is no such bucket", bucket));
      return issues;
    }
    if (count == 0 || count > n) {
      wrong(fmt::format("buckets[{}][1]", i), fmt::format("is {} of {} samples", count, n));
      return issues;
    }
    if (before && bucket <= *before) {
      wrong(fmt::format("buckets[{}][0]", i),
            fmt::format("is {} after {}, buckets must ascend", bucket, *before));
      return issues;
    }
    before = static_cast<uint32_t>(bucket);
    counted += count;
    least += count * std::max(static_cast<uint64_t>(Histogram::bucket_low(*before)), min);
    most += count * std::min(bucket_high(*before), max);
  }
  if (counted != n) {
    wrong("n", fmt::format("is {}, the counts of the buckets add up to {}", n, counted));
  }
  const auto stands_in = [&](const char* field, uint64_t value, const json& bucket) {
    const uint32_t is = Histogram::bucket_of(static_cast<int64_t>(value));
    if (is == bucket[0].get<uint32_t>()) return;
    wrong(field,
          fmt::format("is {}, which lies in bucket {}, but the samples begin or end in bucket {}",
                      value, is, bucket[0].get<uint32_t>()));
  };
  stands_in("min", min, buckets.front());
  stands_in("max", max, buckets.back());
  if (max < min || (n == 1 && max != min)) {
    wrong("max", fmt::format("is {}, of {} samples from {} on", max, n, min));
  }
  if (!issues.empty()) return issues;
  // One sample is the least and one the most, exactly; the others lie somewhere in their buckets.
  if (n > 1) {
    const auto low = static_cast<uint64_t>(Histogram::bucket_low(*before));
    const uint64_t high = bucket_high(buckets.front()[0].get<uint32_t>());
    least += max - std::max(low, min);
    most -= std::min(high, max) - min;
  }
  if (sum < least || sum > most) {
    wrong("sum", fmt::format("is {}, the buckets allow {} to {}", sum, least, most));
  }
  return issues;
}

Histogram histogram_from(const json& hist) { return hist.get<Histogram>(); }

}  // namespace plumbline
