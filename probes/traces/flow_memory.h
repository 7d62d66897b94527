// What is collected over a flow of unknown length in bounded memory: bytes in flight, bytes over
// time, round trip times; and, for a comparison of two captures, which bytes a trace has seen, and
// how often. All belong to one flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/diagnosis/trace_summary.h"

namespace plumbline {

// The bytes of one direction of a connection that were seen and not acknowledged yet, as ranges of
// unwrapped sequence numbers with the times at which they were sent. Answers: were these bytes seen
// before, which of them does an acknowledgement cover, and how long did that take. Bounded: a
// direction that is never acknowledged forgets its oldest ranges.
class SegmentList {
 public:
  static constexpr size_t kMaxSegments = 8192;  // of one direction

  // What an acknowledgement did.
  struct Acked {
    std::optional<int64_t> rtt_ns;  // Karn's rule: only when nothing that it covers was sent twice
    bool unseen = false;            // it covers bytes that were never seen
    int64_t largest = 0;            // bytes of the largest segment, or part of one, that it covers
  };

  // Everything below `begin` counts as acknowledged. To be called before anything else.
  void start(int64_t begin);
  // True when all of [begin, end) was seen or acknowledged before. `last_sent` is then the latest
  // time at which one of the bytes that are still here was sent.
  bool covers(int64_t begin, int64_t end, int64_t* last_sent = nullptr) const;
  // End of the bytes that were seen without a hole from `at` on; `at` itself when it was not seen.
  int64_t run_end(int64_t at) const;
  // Notes [begin, end) as sent now. Bytes that are here already are marked as sent twice. Keeps at
  // most about `most` ranges.
  void add(int64_t begin, int64_t end, int64_t now, size_t most = kMaxSegments);
  Acked acknowledge(int64_t upto, int64_t now);

  int64_t acknowledged() const { return floor_; }  // first byte that is not
  size_t size() const { return segments_.size() - head_; }
  int64_t bytes() const;  // seen and not acknowledged

 private:
  struct Segment {
    int64_t begin = 0, end = 0;
    int64_t sent = 0;  // last time
    bool twice = false;
  };

  void insert(size_t at, const Segment& segment);
  void forget_oldest(size_t count);
  size_t find(int64_t at) const;  // index of the first segment that ends behind `at`

  std::vector<Segment> segments_;  // ascending, disjoint; those before head_ are gone
  size_t head_ = 0;
  int64_t floor_ = 0;
};

// Bytes over time in at most 200 bins, whose width doubles whenever the flow outgrows them.
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

// The distribution of round trip times in buckets of about 3 %.
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

// For comparisons.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

// Which bytes of a direction a trace has seen, as few ranges as possible.
class Intervals {
 public:
  static constexpr size_t kMaxHoles = 4096;  // beyond, holes are taken as filled

  // False when all of it was here before.
  bool add(int64_t begin, int64_t end);
  bool covers(int64_t begin, int64_t end) const;
  // The parts of [begin, end) that are not here, ascending.
  std::vector<ByteRange> gaps(int64_t begin, int64_t end) const;

 private:
  std::map<int64_t, int64_t> ranges_;  // begin -> end, disjoint and not touching
};

// How often which bytes of a direction were seen: the first layer has those that were seen at all,
// the second those that were seen twice, and so on.
class ByteLayers {
 public:
  static constexpr size_t kLayers = 8;  // repetitions behind the last are not counted

  // Notes [begin, end) and says which parts of it were seen for which time: 0 the first.
  using Part = std::function<void(size_t layer, int64_t begin, int64_t end)>;
  void add(int64_t begin, int64_t end, const Part& part = {});
  // How many of these bytes were seen `layer` times at most.
  int64_t lacking(size_t layer, int64_t begin, int64_t end) const;

 private:
  std::array<Intervals, kLayers> layers_;
};

}  // namespace plumbline
