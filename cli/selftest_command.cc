// `plumbline selftest`: does the measuring itself tell the truth on this machine? Statistics
// against distributions whose quantiles are known, verification against planted wrong bytes, every
// kernel against its reference, every schedule against the symbolic checker.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "cli/commands.h"
#include "collectives/engine.h"
#include "collectives/schedule.h"
#include "core/diagnosis/finding.h"
#include "core/record/tally.h"
#include "core/stats/stats.h"
#include "kernels/kernels.h"

namespace plumbline {
namespace {

constexpr uint32_t kSelftestSeed = 20260607;  // fixed, so that a failure can be repeated

// One group of checks: what was done, and what was wrong.
struct Outcomes {
  std::string name;
  size_t done = 0;
  std::vector<std::string> wrong;
  std::string told = {};  // beside the numbers

  void expect(bool right, const std::string& text) {
    ++done;
    if (!right) wrong.push_back(text);
  }
};

// A distribution with known quantile function (ns).
struct Known {
  const char* name;
  double (*quantile)(double p);
};
double uniform_quantile(double p) { return 1000 + 9000 * p; }
double exponential_quantile(double p) { return 500 - 2000 * std::log(1 - p); }
double pareto_quantile(double p) { return 1000 / std::pow(1 - p, 1 / 2.5); }

Outcomes check_statistics() {
  Outcomes outcomes{"statistics", 0, {}};
  std::mt19937_64 random(kSelftestSeed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const Known& known :
       {Known{"uniform", uniform_quantile}, Known{"exponential", exponential_quantile},
        Known{"pareto", pareto_quantile}}) {
    constexpr int kTrials = 2000;
    constexpr int kSamples = 200;
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<int64_t> samples;
      for (int i = 0; i < kSamples; ++i) {
        samples.push_back(std::llround(known.quantile(unit(random))));
      }
      const TimeSummary summary = summarize(samples);
      const double truth = known.quantile(0.5);
      covered += summary.p50_ci95->first <= truth && truth <= summary.p50_ci95->second ? 1 : 0;
    }
    const double coverage = 100.0 * covered / kTrials;
    outcomes.expect(coverage > 93 && coverage < 98,
                    fmt::format("{}: the 95 % interval of the median covers it in {:.1f} %",
                                known.name, coverage));
    std::vector<int64_t> many;
    Histogram histogram;
    for (int i = 0; i < 200'000; ++i) {
      many.push_back(std::llround(known.quantile(unit(random))));
      histogram.add(many.back());
    }
    const TimeSummary exact = summarize(many);
    const TimeSummary bucketed = summarize(histogram);
    for (const auto& [label, p, from_samples, from_histogram] :
         {std::tuple{"p50", 0.5, exact.p50, bucketed.p50},
          std::tuple{"p90", 0.9, exact.p90, bucketed.p90},
          std::tuple{"p99", 0.99, exact.p99, bucketed.p99}}) {
      const double truth = known.quantile(p);
      outcomes.expect(
          std::abs(*from_samples / truth - 1) < 0.03,
          fmt::format("{} {}: {} instead of {}", known.name, label, *from_samples, truth));
      outcomes.expect(std::abs(*from_histogram / *from_samples - 1) < 0.002,
                      fmt::format("{} {}: histogram {} instead of {}", known.name, label,
                                  *from_histogram, *from_samples));
    }
  }
  outcomes.expect(!quantile_supported(999, 0.99) && quantile_supported(1000, 0.99),
                  "p99 is shown from 1000 samples on");
  return outcomes;
}

// Spoils one byte of a right result at a time: each must be seen as exactly one wrong element.
Outcomes check_verification() {
  Outcomes outcomes{"verification", 0, {}};
  std::mt19937 random(kSelftestSeed);
  for (const DTypeRow& dtype : dtype_table()) {
    for (const RedOpRow& redop : redop_table()) {
      if (!reduction_unsupported(dtype.dtype, redop.redop).empty()) continue;
      const size_t count = 10'007;
      const Pattern pattern(dtype.dtype, redop.redop, 1, 7);
      std::vector<std::byte> data(count * dtype.size);
      pattern.fill(data.data(), 0, 0, count);
      outcomes.expect(pattern.count_wrong_reduced(data.data(), 0, count) == 0,
                      fmt::format("{} {}: right data counted as wrong", dtype.name, redop.name));
      for (int i = 0; i < 20; ++i) {
        const size_t at = random() % data.size();
        const std::byte kept = data[at];
        data[at] ^= static_cast<std::byte>(1 << (random() % 8));
        outcomes.expect(
            pattern.count_wrong_reduced(data.data(), 0, count) == 1,
            fmt::format("{} {}: flipped bit in byte {} not seen", dtype.name, redop.name, at));
        data[at] = kept;
      }
    }
  }
  return outcomes;
}

Outcomes check_all_kernels() {
  Outcomes outcomes{"kernels", 0, {}};
  for (const KernelSet* set : kernel_sets()) {
    const std::vector<std::string> wrong = check_kernels(*set);
    outcomes.expect(wrong.empty(),
                    fmt::format("{}: {}", set->target, wrong.empty() ? "" : wrong.front()));
  }
  outcomes.told = fmt::format("; digest {:016x}", digest_kernels(*kernel_sets().front()));
  return outcomes;
}

// As it is, and, where it is one of an allreduce, with messages in 16 bits.
void check_shape(const AlgorithmRow& algorithm, ScheduleRequest request, Outcomes& outcomes) {
  for (const CodecKind codec : {CodecKind::kNone, CodecKind::kFp16}) {
    if (codec != CodecKind::kNone && algorithm.op != Op::kAllreduce) continue;
    request.codec.kind = codec;
    const std::string wrong = check_schedule(algorithm, request);
    outcomes.expect(
        wrong.empty(),
        fmt::format("{} {} with {} ranks, count {}, compression {}: {}", to_string(algorithm.op),
                    algorithm.name, request.size, request.count, to_string(request.codec), wrong));
  }
}

Outcomes check_schedules() {
  Outcomes outcomes{"schedules", 0, {}};
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (int size = 1; size <= 9; ++size) {
      for (const uint64_t count : {0, 1, 7, 64}) {
        for (const bool in_place : {false, true}) {
          ScheduleRequest request;
          request.op = algorithm.op;
          request.size = size;
          request.count = count;
          request.root = size - 1;
          request.in_place = in_place && row(algorithm.op).has_in_place;
          request.segment_bytes = 64;
          if (size < row(algorithm.op).min_ranks || !algorithm.unsupported(request).empty())
            continue;
          check_shape(algorithm, request, outcomes);
        }
      }
    }
  }
  return outcomes;
}

}  // namespace

int run_selftest(const Args&, Context& context) {
  bool all_right = true;
  for (const auto check :
       {check_statistics, check_verification, check_all_kernels, check_schedules}) {
    const Outcomes outcomes = check();
    Tally tally;
    tally.add(Standing::kPass, outcomes.done - outcomes.wrong.size());
    tally.add(Standing::kFail, outcomes.wrong.size());
    *context.out << fmt::format("{:<13} {}{}\n", outcomes.name, tally.text("check"), outcomes.told)
                 << std::flush;
    for (const std::string& text : outcomes.wrong) *context.out << "  " << text << "\n";
    all_right &= outcomes.wrong.empty() && outcomes.done > 0;
  }
  return all_right ? 0 : 3;
}

}  // namespace plumbline
