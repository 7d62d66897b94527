// Writes the schedule of one rank step by step: the small language in which algorithms are written.
// Steps over empty ranges are left out (kNoStep), on every rank alike, so that counts smaller than
// the number of ranks need no special case; tokens are the messages that are empty on purpose.
// The order of the calls is the order in which the executor starts what may start. Not
// thread-safe; used inside one build function.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedule.h"

namespace plumbline {

using StepId = int32_t;
inline constexpr StepId kNoStep = -1;

class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const ScheduleRequest& request) : request_(request) {}

  static Range in(uint64_t begin, uint64_t count) { return {BufferId::kIn, begin, count}; }
  static Range out(uint64_t begin, uint64_t count) { return {BufferId::kOut, begin, count}; }
  // Fresh scratch.
  Range scratch(uint64_t count);

  // `after` may hold kNoStep, which asks for nothing.
  StepId send(int peer, uint32_t message, Range source, const std::vector<StepId>& after = {});
  // A send that follows the step `from`, which writes exactly `source`, byte for byte.
  StepId stream(int peer, uint32_t message, Range source, StepId from);
  StepId recv(int peer, uint32_t message, Range dst, const std::vector<StepId>& after = {});
  // dst = operand (op) wire. `last` marks the reduction that completes the result: there AVG
  // divides.
  StepId recv_reduce(int peer, uint32_t message, Range operand, Range dst, bool last,
                     const std::vector<StepId>& after = {});
  // dst = first (op) second; the order matters for identical bits on all ranks.
  StepId reduce(Range first, Range second, Range dst, bool last, const std::vector<StepId>& after);
  // dst = parts combined from the first to the last, two or more, in one pass over memory (where
  // nothing is compressed).
  StepId reduce_all(const std::vector<Range>& parts, Range dst, bool last,
                    const std::vector<StepId>& after);
  StepId copy(Range source, Range dst, const std::vector<StepId>& after = {});
  // A copy from the input to the place of the output that it already has when in place.
  StepId copy_own(Range source, Range dst) {
    return request_.in_place ? kNoStep : copy(source, dst);
  }
  void send_token(int peer, uint32_t message, const std::vector<StepId>& after = {});
  StepId recv_token(int peer, uint32_t message);

  Schedule finish() { return std::move(schedule_); }

 private:
  StepId add(Step step, const std::vector<StepId>& after);
  StepId reduce_pairs(const std::vector<Range>& parts, Range dst, bool last,
                      const std::vector<StepId>& after);
  Action reduction(bool last) const {
    return last && request_.redop == RedOp::kAvg ? Action::kReduceScale : Action::kReduce;
  }

  const ScheduleRequest& request_;
  Schedule schedule_;
};

// Part `index` of `count` elements cut into `parts` as evenly as possible; parts may be empty.
Range even_part(BufferId buffer, uint64_t count, int parts, int index);
// i modulo n in 0 .. n-1, also for negative i: neighbours on a ring.
inline int wrap(int i, int n) { return ((i % n) + n) % n; }
// The `index`-th of consecutive blocks of `count` elements, one per rank.
inline Range block(BufferId buffer, uint64_t count, int index) {
  return {buffer, count * static_cast<uint64_t>(index), count};
}
// What every collective is in a world of one rank: the input becomes the output.
Schedule copy_only(const ScheduleRequest& request);

}  // namespace plumbline
