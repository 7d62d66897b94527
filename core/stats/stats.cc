#include "core/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace plumbline {
namespace {

constexpr double kZ95 = 1.96;  // standard normal, two-sided 95 %

// Both kinds of summary come from the same three questions: how many, the value at a rank, and the
// moments.
struct Sorted {
  uint64_t n = 0;
  std::function<int64_t(uint64_t)> at;  // 1-based rank
};

uint64_t rank_of(uint64_t n, double q) {
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(n) - 1e-9));
  return std::clamp<uint64_t>(rank, 1, n);
}

double median_of(const Sorted& sorted) {
  const uint64_t n = sorted.n;
  if (n % 2 == 1) return static_cast<double>(sorted.at(n / 2 + 1));
  return (static_cast<double>(sorted.at(n / 2)) + static_cast<double>(sorted.at(n / 2 + 1))) / 2;
}

TimeSummary summarize_sorted(const Sorted& sorted) {
  TimeSummary summary;
  summary.n = sorted.n;
  if (sorted.n == 0) return summary;
  summary.min = static_cast<double>(sorted.at(1));
  summary.max = static_cast<double>(sorted.at(sorted.n));
  summary.p50 = median_of(sorted);
  const auto honest = [&](double q) -> std::optional<double> {
    if (!quantile_supported(sorted.n, q)) return std::nullopt;
    return static_cast<double>(sorted.at(rank_of(sorted.n, q)));
  };
  summary.p90 = honest(0.90);
  summary.p95 = honest(0.95);
  summary.p99 = honest(0.99);
  summary.p999 = honest(0.999);
  if (const auto ranks = median_ci_ranks(sorted.n)) {
    summary.p50_ci95 = {static_cast<double>(sorted.at(ranks->first)),
                        static_cast<double>(sorted.at(ranks->second))};
  }
  return summary;
}

std::optional<double> cv_from(double n, double sum, double centred_squares) {
  if (n < 2 || sum <= 0) return std::nullopt;
  return std::sqrt(centred_squares / (n - 1)) / (sum / n);
}

constexpr double kNormal = 1.4826;  // median absolute deviation -> standard deviation

std::vector<double> logs_of(const std::vector<double>& rates) {
  std::vector<double> logs;
  logs.reserve(rates.size());
  for (const double rate : rates) logs.push_back(std::log(rate));
  return logs;
}

double spread_of(std::vector<double> logs) {
  const double middle = median(logs);
  for (double& log : logs) log = std::abs(log - middle);
  return kNormal * median(logs);
}

bool ends_before(const std::vector<double>& members, double next) {
  const double least =
      std::log(members.size() < kFewInRateGroup ? kRateGroupGapFew : kRateGroupGap);
  const double gap = std::log(members.back() / next);
  return gap >= least && gap >= kRateGroupDeviations * spread_of(logs_of(members));
}

}  // namespace

bool quantile_supported(uint64_t n, double q) {
  return static_cast<double>(n) * (1.0 - q) >= 10.0 - 1e-6;
}

int64_t quantile_sorted(std::span<const int64_t> sorted, double q) {
  return sorted[rank_of(sorted.size(), q) - 1];
}

std::optional<std::pair<uint64_t, uint64_t>> median_ci_ranks(uint64_t n) {
  if (n < 6) return std::nullopt;
  const auto count = static_cast<double>(n);
  const double half = kZ95 * std::sqrt(count);
  const double low = std::floor((count - half) / 2);
  const double high = std::ceil(1 + (count + half) / 2);
  return std::pair{static_cast<uint64_t>(std::clamp(low, 1.0, count)),
                   static_cast<uint64_t>(std::clamp(high, 1.0, count))};
}

TimeSummary summarize(std::span<const int64_t> samples_ns) {
  std::vector<int64_t> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  TimeSummary summary =
      summarize_sorted({sorted.size(), [&](uint64_t rank) { return sorted[rank - 1]; }});
  if (sorted.empty()) return summary;
  double sum = 0;
  for (const int64_t value : sorted) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(sorted.size());
  double squares = 0;
  std::vector<double> deviations;
  deviations.reserve(sorted.size());
  for (const int64_t value : sorted) {
    const auto v = static_cast<double>(value);
    squares += (v - mean) * (v - mean);
    deviations.push_back(std::abs(v - *summary.p50));
  }
  summary.cv = cv_from(static_cast<double>(sorted.size()), sum, squares);
  summary.mad = median(std::move(deviations));
  return summary;
}

TimeSummary summarize(const Histogram& histogram) {
  const Histogram::Buckets buckets = histogram.sparse();
  std::vector<uint64_t> up_to;  // samples in the buckets up to and with each
  up_to.reserve(buckets.size());
  for (const auto& [bucket, count] : buckets) {
    up_to.push_back((up_to.empty() ? 0 : up_to.back()) + count);
  }
  const auto at_rank = [&](uint64_t rank) {
    if (rank == 1) return histogram.min();
    if (rank >= histogram.n()) return histogram.max();
    const auto found = std::lower_bound(up_to.begin(), up_to.end(), rank);
    const uint32_t bucket = buckets[static_cast<size_t>(found - up_to.begin())].first;
    return std::clamp(Histogram::bucket_mid(bucket), histogram.min(), histogram.max());
  };
  TimeSummary summary = summarize_sorted({histogram.n(), at_rank});
  if (histogram.n() == 0) return summary;
  const auto n = static_cast<double>(histogram.n());
  const auto sum = static_cast<double>(histogram.sum());
  double squares = 0;
  std::vector<std::pair<double, uint64_t>> deviations;
  for (const auto& [bucket, count] : buckets) {
    const auto value = static_cast<double>(
        std::clamp(Histogram::bucket_mid(bucket), histogram.min(), histogram.max()));
    squares += (value - sum / n) * (value - sum / n) * static_cast<double>(count);
    deviations.emplace_back(std::abs(value - *summary.p50), count);
  }
  summary.cv = cv_from(n, sum, squares);
  std::sort(deviations.begin(), deviations.end());
  uint64_t seen = 0;
  for (const auto& [deviation, count] : deviations) {
    seen += count;
    if (2 * seen >= histogram.n()) {
      summary.mad = deviation;
      break;
    }
  }
  return summary;
}

double autocorrelation_lag1(std::span<const int64_t> samples_ns) {
  if (samples_ns.size() < 3) return 0;
  double sum = 0;
  for (const int64_t value : samples_ns) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(samples_ns.size());
  double lagged = 0;
  double squares = 0;
  for (size_t i = 0; i < samples_ns.size(); ++i) {
    const double d = static_cast<double>(samples_ns[i]) - mean;
    squares += d * d;
    if (i > 0) lagged += d * (static_cast<double>(samples_ns[i - 1]) - mean);
  }
  return squares > 0 ? lagged / squares : 0;
}

void set_median(std::vector<double> values, TimeSummary& time) {
  time.p50.reset();
  time.p50_ci95.reset();
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  time.p50 = median(values);
  if (const auto ranks = median_ci_ranks(values.size())) {
    time.p50_ci95 = {values[ranks->first - 1], values[ranks->second - 1]};
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::string stop_reason(const StopRule& rule, std::span<const int64_t> samples_ns,
                        int64_t elapsed_ns) {
  constexpr size_t kBlock = 10;            // samples per block mean
  constexpr double kAutocorrelated = 0.1;  // |lag-1 rho| above which samples are not independent
  if (samples_ns.size() >= rule.max_n) return "count";
  if (rule.ci > 0 && samples_ns.size() >= rule.min_n) {
    std::vector<int64_t> values(samples_ns.begin(), samples_ns.end());
    if (std::abs(autocorrelation_lag1(samples_ns)) > kAutocorrelated) {
      values.clear();
      for (size_t i = 0; i + kBlock <= samples_ns.size(); i += kBlock) {
        int64_t sum = 0;
        for (size_t j = 0; j < kBlock; ++j) sum += samples_ns[i + j];
        values.push_back(sum / static_cast<int64_t>(kBlock));
      }
    }
    std::sort(values.begin(), values.end());
    if (const auto ranks = median_ci_ranks(values.size())) {
      const auto low = static_cast<double>(values[ranks->first - 1]);
      const auto high = static_cast<double>(values[ranks->second - 1]);
      const auto middle = static_cast<double>(quantile_sorted(values, 0.5));
      if (middle > 0 && (high - low) / middle <= rule.ci) return "ci";
    }
  }
  return elapsed_ns >= rule.max_time_ns ? "time" : "";
}

std::vector<RateGroup> rate_groups(std::vector<double> rates) {
  std::erase_if(rates, [](double rate) { return !std::isfinite(rate) || rate <= 0; });
  std::sort(rates.rbegin(), rates.rend());
  std::vector<RateGroup> groups;
  for (const double rate : rates) {
    if (groups.empty() || ends_before(groups.back().members, rate)) groups.emplace_back();
    groups.back().members.push_back(rate);
  }
  for (RateGroup& group : groups) group.usual = std::exp(median(logs_of(group.members)));
  return groups;
}

const RateGroup* best_group(const std::vector<RateGroup>& groups, size_t fewest) {
  const auto found = std::find_if(groups.begin(), groups.end(), [fewest](const RateGroup& group) {
    return group.members.size() >= fewest;
  });
  return found == groups.end() ? nullptr : &*found;
}

bool is_below(const RateGroup& group, double rate, double factor) {
  return rate < group.members.back() && rate * factor <= group.usual;
}

}  // namespace plumbline
