// The bytes of one direction of a connection that were seen and not acknowledged yet, as ranges of
// unwrapped sequence numbers with the times at which they were sent. Answers: were these bytes seen
// before, which of them does an acknowledgement cover, and how long did that take. Bounded: a
// direction that is never acknowledged forgets its oldest ranges. Belongs to one flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace plumbline {

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

}  // namespace plumbline
