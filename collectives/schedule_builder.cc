#include "collectives/schedule_builder.h"

#include <utility>

namespace plumbline {

Range ScheduleBuilder::scratch(uint64_t count) {
  const Range range{BufferId::kScratch, schedule_.scratch_elems, count};
  schedule_.scratch_elems += count;
  return range;
}

Action ScheduleBuilder::reduction(bool last) const {
  return last && request_.redop == RedOp::kAvg ? Action::kReduceScale : Action::kReduce;
}

StepId ScheduleBuilder::add(Step step, const std::vector<StepId>& after) {
  for (StepId id : after) {
    if (id != kNoStep) step.after.push_back(static_cast<uint32_t>(id));
  }
  schedule_.steps.push_back(std::move(step));
  return static_cast<StepId>(schedule_.steps.size() - 1);
}

StepId ScheduleBuilder::send(int peer, uint32_t message, Range source,
                             const std::vector<StepId>& after) {
  if (source.count == 0) return kNoStep;
  Step step;
  step.kind = StepKind::kSend;
  step.peer = peer;
  step.message = message;
  step.source = source;
  return add(std::move(step), after);
}

StepId ScheduleBuilder::stream(int peer, uint32_t message, Range source, StepId from) {
  const StepId id = send(peer, message, source);
  if (id != kNoStep) schedule_.steps.back().streams_from = from;
  return id;
}

StepId ScheduleBuilder::recv(int peer, uint32_t message, Range dst,
                             const std::vector<StepId>& after) {
  if (dst.count == 0) return kNoStep;
  Step step;
  step.kind = StepKind::kRecv;
  step.peer = peer;
  step.message = message;
  step.dst = dst;
  return add(std::move(step), after);
}

StepId ScheduleBuilder::recv_reduce(int peer, uint32_t message, Range operand, Range dst, bool last,
                                    const std::vector<StepId>& after) {
  const StepId id = recv(peer, message, dst, after);
  if (id == kNoStep) return id;
  schedule_.steps.back().action = reduction(last);
  schedule_.steps.back().operand = operand;
  return id;
}

StepId ScheduleBuilder::reduce(Range first, Range second, Range dst, bool last,
                               const std::vector<StepId>& after) {
  const StepId id = copy(second, dst, after);
  if (id == kNoStep) return id;
  schedule_.steps.back().action = reduction(last);
  schedule_.steps.back().operand = first;
  return id;
}

StepId ScheduleBuilder::copy(Range source, Range dst, const std::vector<StepId>& after) {
  if (dst.count == 0) return kNoStep;
  Step step;
  step.kind = StepKind::kLocal;
  step.source = source;
  step.dst = dst;
  return add(std::move(step), after);
}

StepId ScheduleBuilder::copy_own(Range source, Range dst) {
  return request_.in_place ? kNoStep : copy(source, dst);
}

void ScheduleBuilder::send_token(int peer, uint32_t message, const std::vector<StepId>& after) {
  Step step;
  step.kind = StepKind::kSend;
  step.peer = peer;
  step.message = message;
  add(std::move(step), after);
}

StepId ScheduleBuilder::recv_token(int peer, uint32_t message) {
  Step step;
  step.kind = StepKind::kRecv;
  step.peer = peer;
  step.message = message;
  return add(std::move(step), {});
}

Range even_part(BufferId buffer, uint64_t count, int parts, int index) {
  const auto n = static_cast<uint64_t>(parts);
  const auto i = static_cast<uint64_t>(index);
  const uint64_t share = count / n, rest = count % n;  // the first `rest` parts get one more
  const uint64_t begin = i * share + (i < rest ? i : rest);
  return {buffer, begin, share + (i < rest ? 1 : 0)};
}

Schedule copy_only(const ScheduleRequest& request) {
  ScheduleBuilder b(request);
  const uint64_t count = layout_of(request).out_elems;
  b.copy_own(ScheduleBuilder::in(0, count), ScheduleBuilder::out(0, count));
  return b.finish();
}

}  // namespace plumbline
