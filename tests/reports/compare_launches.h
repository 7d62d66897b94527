// Synthetic launches of two sides, for the tests of comparisons and of what shows them.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "reports/compare/compare.h"
#include "tests/reports/samples.h"

namespace plumbline::samples {

// One launch of `run` with one cell.
inline Record launch(const std::string& run, int number, double p50_ns,
                     const std::string& op = "allreduce", uint64_t bytes = 1024) {
  Record record = samples::record("latency", op, "ring", 2, bytes, p50_ns, 50);
  record.run_id = run;
  record.launch = LaunchMark{number, 1, ""};
  record.noise = {};
  return record;
}

// `n` launches a side; b takes `ratio` times as long. Noise: a few thousandths.
inline void add_sides(CompareCollector& collector, int n, double ratio,
                      const std::string& op = "allreduce", uint64_t bytes = 1024,
                      double spread = 0.003) {
  std::mt19937_64 random(n * 31 + bytes);
  std::normal_distribution<double> noise(1, spread);
  for (int i = 1; i <= n; ++i) {
    collector.take(0, launch("ra", i, 50'000 * noise(random), op, bytes));
    collector.take(1, launch("rb", i, 50'000 * ratio * noise(random), op, bytes));
  }
}

inline Comparison compared(int n, double ratio, const CompareRule& rule = {}) {
  CompareCollector collector(rule);
  add_sides(collector, n, ratio);
  return collector.finish();
}

}  // namespace plumbline::samples
