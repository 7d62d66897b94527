// A schedule in 16 bits: see compress() in schedule.h.
#include <algorithm>
#include <vector>

#include "collectives/schedule.h"
#include "collectives/sparse_exchange.h"

namespace plumbline {
namespace {

bool overlap(const Range& a, const Range& b) {
  return a.buffer == b.buffer && a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

bool is_reduction(const Step& step) {
  return step.action == Action::kReduce || step.action == Action::kReduceScale;
}

// Does this rank send any of it, at any time?
bool is_sent(const std::vector<Range>& sent, const Range& range) {
  return std::any_of(sent.begin(), sent.end(), [&](const Range& s) { return overlap(s, range); });
}

// Nobody wrote there before: what lies there, in the result too where both are one, is the input.
bool is_input(const std::vector<Step>& steps, size_t before, const Range& range) {
  if (range.buffer == BufferId::kIn) return true;
  return std::none_of(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(before),
      [&](const Step& s) { return s.kind != StepKind::kSend && overlap(s.dst, range); });
}

// A sum that only goes on growing in its place, before anybody gets to see it, stays exact.
bool goes_on(const std::vector<Step>& steps, size_t index) {
  const Range& sum = steps[index].dst;
  for (size_t i = index + 1; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const bool streams = step.streams_from == static_cast<int32_t>(index);
    if (step.kind == StepKind::kSend) {
      if (streams || overlap(step.source, sum)) return false;
      continue;
    }
    if (is_reduction(step) && step.dst == sum && (step.operand == sum || step.source == sum)) {
      return true;
    }
    if (overlap(step.dst, sum)) return false;
  }
  return false;
}

}  // namespace

void compress(Schedule& schedule) {
  std::vector<Range> sent;
  for (const Step& step : schedule.steps) {
    if (step.kind == StepKind::kSend && step.source.count > 0) sent.push_back(step.source);
  }
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    Step& step = schedule.steps[i];
    const bool sends = step.kind == StepKind::kSend;
    if (step.kind != StepKind::kLocal) step.halved = (sends ? step.source : step.dst).count > 0;
    if (sends || step.dst.count == 0) continue;
    const bool local = step.kind == StepKind::kLocal;
    // The input cannot be rounded where it lies, so whoever reads what is also sent does it.
    const auto rounds = [&](const Range& range) {
      return is_input(schedule.steps, i, range) && is_sent(sent, range);
    };
    step.rounds_source = local && rounds(step.source);
    step.rounds_operand = is_reduction(step) && rounds(step.operand);
    const bool seen = step.dst.buffer == BufferId::kOut || is_sent(sent, step.dst);
    const bool rounded_already = !local && step.action == Action::kCopy;
    step.rounds_result = seen && !rounded_already && !goes_on(schedule.steps, i);
  }
}

ScheduleRequest moving_request(const ScheduleRequest& request) {
  if (!request.codec.sparse() || request.size == 1) return request;
  ScheduleRequest frames = request;
  frames.op = Op::kAllgather;
  frames.count = SparseExchange::frame_words(kept_elements(request.codec, request.count));
  frames.elem_size = sizeof(uint32_t);
  frames.in_place = true;
  return frames;
}

Schedule build_schedule(const AlgorithmRow& algorithm, const ScheduleRequest& request) {
  Schedule schedule = algorithm.build(request);
  if (request.codec.halves() && request.size > 1) compress(schedule);
  return schedule;
}

}  // namespace plumbline
