// Two things that are collected over a flow of unknown length in constant memory: bytes over time
// in at most 200 bins, whose width doubles whenever the flow outgrows them, and the distribution of
// round trip times in buckets of about 3 %. Belong to one flow.
#pragma once

#include <cstdint>
#include <vector>

#include "core/diagnosis/trace_summary.h"

namespace plumbline {

class RateBins {
 public:
  static constexpr size_t kMaxBins = 200;

  // `at_ns` since the flow's first packet; earlier ones count for the first bin.
  void add(int64_t at_ns, bool from_a, int64_t bytes);
  // `start_ns` of the flow, since the trace's first packet.
  std::vector<TraceRateBin> bins(int64_t start_ns) const;

 private:
  struct Bin {
    int64_t a = 0, b = 0;
  };
  void halve();

  std::vector<Bin> bins_;
  int64_t width_ns_ = 100'000;
};

class RttDistribution {
 public:
  void add(int64_t ns);
  void merge(const RttDistribution& other);
  TraceRtt summary() const;

 private:
  int64_t quantile(double q) const;

  std::vector<uint32_t> counts_;  // grows to the highest bucket used
  int64_t n_ = 0, min_ = 0, max_ = 0;
};

}  // namespace plumbline
