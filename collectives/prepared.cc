#include "collectives/prepared.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace plumbline {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

AlignedBytes::AlignedBytes(size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(std::max<size_t>(bytes, 1), kAlignment))) {}

void AlignedBytes::Delete::operator()(std::byte* data) const {
  ::operator delete(data, kAlignment);
}

Executor::Prepared::Prepared(PreparedHost& host, const KernelSet& kernels, PreparedTraits traits,
                             Schedule schedule)
    : host_(host),
      traits_(std::move(traits)),
      reduce_(kernels.reduce(traits_.spec.dtype, traits_.spec.redop, traits_.spec.fast_math)),
      scale_(kernels.scale_fn(traits_.spec.dtype)),
      elem_size_(traits_.request.elem_size),
      scratch_(schedule.scratch_elems * elem_size_) {
  compile(schedule);
  link(schedule);
  host_.active.reserve(++host_.prepared);
  states_ = initial_;
  sinks_.reserve(steps_.size());
  for (uint32_t i = 0; i < steps_.size(); ++i) sinks_.emplace_back(*this, i);
  queue_.reserve(steps_.size() * 2 + 1);
  long_local_.reserve(steps_.size());
}

Executor::Prepared::~Prepared() {
  --host_.prepared;
  if (!in_flight_) return;
  abandon({ErrorCode::kAborted, "the operation " + traits_.text + " was given up", 0, {}, {}});
  std::erase(host_.active, this);
}

void Executor::Prepared::compile(const Schedule& schedule) {
  const auto place = [this](const Range& range) {
    return Place{range.buffer, range.begin * elem_size_};
  };
  for (const Step& step : schedule.steps) {
    RunStep run;
    run.kind = step.kind;
    run.action = step.action;
    run.source = place(step.source);
    run.operand = place(step.operand);
    run.dst = place(step.dst);
    run.bytes = (step.kind == StepKind::kSend ? step.source : step.dst).count * elem_size_;
    run.peer = step.peer;
    run.message = step.message;
    run.streams_from = step.streams_from;
    run.waits_for = static_cast<uint32_t>(step.after.size());
    run.reduces = step.action == Action::kReduce || step.action == Action::kReduceScale;
    if (run.waits_for == 0 && run.streams_from < 0) {
      first_steps_.push_back(static_cast<uint32_t>(steps_.size()));
    }
    State state;
    state.waits_for = run.waits_for;
    initial_.push_back(state);
    steps_.push_back(run);
  }
}

// Turns "after" and "streams_from" round, into lists of who comes next.
void Executor::Prepared::link(const Schedule& schedule) {
  std::vector<std::vector<uint32_t>> waiters(steps_.size()), followers(steps_.size());
  size_t total = 0;
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    const Step& step = schedule.steps[i];
    for (uint32_t before : step.after) waiters[before].push_back(i);
    total += step.after.size();
    if (step.streams_from < 0) continue;
    followers[static_cast<size_t>(step.streams_from)].push_back(i);
    ++total;
  }
  links_.reserve(total);
  const auto store = [this](const std::vector<uint32_t>& list) {
    const size_t begin = links_.size();
    links_.insert(links_.end(), list.begin(), list.end());
    return std::span<const uint32_t>(links_).subspan(begin);
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].waiters = store(waiters[i]);
    steps_[i].followers = store(followers[i]);
  }
}

Status Executor::Prepared::connect(Deadline deadline) {
  if (connected_) return {};
  for (RunStep& step : steps_) {
    if (step.peer < 0) continue;
    const Expected<Channel*> channel = host_.group->channel(step.peer, deadline);
    if (!channel) return fail(channel.error());
    step.channel = *channel;
  }
  connected_ = true;
  return {};
}

void Executor::Prepared::start(const void* in, void* out) {
  auto* const out_bytes = static_cast<std::byte*>(out);
  bases_[static_cast<size_t>(BufferId::kOut)] = out_bytes;
  bases_[static_cast<size_t>(BufferId::kScratch)] = scratch_.get();
  // Schedules never write to kIn, except where it is kOut.
  auto*& in_base = bases_[static_cast<size_t>(BufferId::kIn)];
  if (traits_.request.in_place) {
    in_base = out_bytes + layout_of(traits_.request).in_offset * static_cast<int64_t>(elem_size_);
  } else {
    in_base = const_cast<std::byte*>(static_cast<const std::byte*>(in));
  }
  std::copy(initial_.begin(), initial_.end(), states_.begin());
  queue_.clear();
  long_local_.clear();
  next_local_ = 0;
  remaining_ = steps_.size();
  sequence_ = host_.sequence;
  in_flight_ = true;
  done_ = false;
  host_.active.push_back(this);
  host_.group->control().begin_operation(sequence_, traits_.op_hash, traits_.text);
  draining_ = true;
  for (uint32_t step : first_steps_) launch(step);
  draining_ = false;
  if (remaining_ == 0) {
    complete();
  } else {
    drain();
  }
}

void Executor::Prepared::launch(uint32_t index) {
  const RunStep& step = steps_[index];
  State& state = states_[index];
  state.launched = true;
  const MessageTag tag{host_.group->id(), sequence_, step.message, traits_.op_hash};
  switch (step.kind) {
    case StepKind::kLocal:
      launch_local(index);
      break;
    case StepKind::kRecv:
      step.channel->post_recv(tag, step.bytes, &sinks_[index]);
      break;
    case StepKind::kSend: {
      const uint64_t ready = step.streams_from < 0
                                 ? step.bytes
                                 : states_[static_cast<size_t>(step.streams_from)].landed;
      state.send = step.channel->post_send(tag, at(step.source), step.bytes, ready, this, index);
      break;
    }
  }
}

void Executor::Prepared::launch_local(uint32_t index) {
  const RunStep& step = steps_[index];
  if (step.bytes > kSliceBytes) {  // would keep the channels waiting
    long_local_.push_back(index);
    ++host_.local_work;
    return;
  }
  apply(step, 0, at(step.source), step.bytes / elem_size_);
  states_[index].landed = step.bytes;
  states_[index].ended = true;
  enqueue(index);
}

bool Executor::Prepared::run_slice() {
  if (next_local_ == long_local_.size()) return false;
  const uint32_t index = long_local_[next_local_];
  const RunStep& step = steps_[index];
  State& state = states_[index];
  const uint64_t bytes = std::min<uint64_t>(kSliceBytes, step.bytes - state.landed);
  apply(step, state.landed / elem_size_, at(step.source) + state.landed, bytes / elem_size_);
  state.landed += bytes;
  if (state.landed == step.bytes) {
    state.ended = true;
    ++next_local_;
    --host_.local_work;
  }
  enqueue(index);
  drain();
  return true;
}

void Executor::Prepared::apply(const RunStep& step, uint64_t first, const std::byte* source,
                               uint64_t elements) {
  std::byte* const dst = at(step.dst) + first * elem_size_;
  if (step.reduces) {
    reduce_(dst, at(step.operand) + first * elem_size_, source, elements);
    source = dst;
  }
  if (step.action == Action::kReduceScale || step.action == Action::kScale) {
    scale_(dst, source, elements, traits_.request.size);
  } else if (!step.reduces && dst != source && elements > 0) {
    std::memcpy(dst, source, elements * elem_size_);
  }
}

std::span<std::byte> Executor::Prepared::window(uint32_t index) {
  const RunStep& step = steps_[index];
  const State& state = states_[index];
  const uint64_t missing = step.bytes - state.landed - state.carried;
  if (!step.reduces) return {at(step.dst) + state.landed, missing};
  // Room for the carried bytes is left in front; advance() puts them there, because another
  // receive may use the window in between.
  return {host_.window + state.carried, std::min<uint64_t>(missing, kSliceBytes - state.carried)};
}

void Executor::Prepared::advance(uint32_t index, size_t bytes) {
  const RunStep& step = steps_[index];
  State& state = states_[index];
  if (step.reduces) {
    std::memcpy(host_.window, state.carry, state.carried);
    const uint64_t there = state.carried + bytes, elements = there / elem_size_;
    apply(step, state.landed / elem_size_, host_.window, elements);
    state.landed += elements * elem_size_;
    state.carried = static_cast<uint8_t>(there - elements * elem_size_);
    std::memcpy(state.carry, host_.window + elements * elem_size_, state.carried);
  } else {
    state.landed += bytes;
  }
  landed(index);
}

size_t Executor::Prepared::usable(uint32_t index, std::span<const std::byte> bytes) const {
  const bool whole = steps_[index].reduces && states_[index].carried == 0 &&
                     reinterpret_cast<uintptr_t>(bytes.data()) % elem_size_ == 0;
  return whole ? bytes.size() - bytes.size() % elem_size_ : 0;
}

void Executor::Prepared::use(uint32_t index, std::span<const std::byte> bytes) {
  State& state = states_[index];
  apply(steps_[index], state.landed / elem_size_, bytes.data(), bytes.size() / elem_size_);
  state.landed += bytes.size();
  landed(index);
}

// More of a receive has landed.
void Executor::Prepared::landed(uint32_t index) {
  const RunStep& step = steps_[index];
  State& state = states_[index];
  state.ended = state.landed == step.bytes;
  if (!state.ended && step.followers.empty()) return;
  enqueue(index);
  drain();
}

void Executor::Prepared::sent(uint64_t index) {
  states_[index].ended = true;
  enqueue(static_cast<uint32_t>(index));
  drain();
}

void Executor::Prepared::enqueue(uint32_t index) {
  if (states_[index].queued) return;
  states_[index].queued = true;
  queue_.push_back(index);
}

void Executor::Prepared::drain() {
  if (draining_) return;
  draining_ = true;
  // The queue grows while it is worked off.
  for (size_t i = 0; i < queue_.size(); ++i) {
    const uint32_t index = queue_[i];
    states_[index].queued = false;
    if (!steps_[index].followers.empty()) feed_followers(index);
    if (states_[index].ended) end_step(index);
  }
  queue_.clear();
  draining_ = false;
  if (in_flight_ && remaining_ == 0) complete();
}

bool Executor::Prepared::may_launch(uint32_t index) const {
  const State& state = states_[index];
  if (state.launched || state.waits_for > 0) return false;
  if (steps_[index].streams_from < 0) return true;
  const State& source = states_[static_cast<size_t>(steps_[index].streams_from)];
  return source.landed > 0 || source.ended;
}

void Executor::Prepared::feed_followers(uint32_t index) {
  for (uint32_t follower : steps_[index].followers) {
    if (states_[follower].launched) {
      steps_[follower].channel->extend_send(states_[follower].send, states_[index].landed);
    } else if (may_launch(follower)) {
      launch(follower);
    }
  }
}

void Executor::Prepared::end_step(uint32_t index) {
  --remaining_;
  for (uint32_t waiter : steps_[index].waiters) {
    --states_[waiter].waits_for;
    if (may_launch(waiter)) launch(waiter);
  }
}

void Executor::Prepared::complete() {
  in_flight_ = false;
  done_ = true;
  std::erase(host_.active, this);
  host_.group->control().end_operation(sequence_);
}

void Executor::Prepared::abandon(const Error& reason) {
  for (const RunStep& step : steps_) {
    if (step.channel != nullptr) step.channel->cancel(reason);
  }
  host_.local_work -= long_local_.size() - next_local_;
  next_local_ = long_local_.size();
  in_flight_ = false;
}

Executor::Prepared::Pending Executor::Prepared::pending() const {
  for (StepKind kind : {StepKind::kRecv, StepKind::kSend}) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kind != kind || states_[i].ended) continue;
      return {steps_[i].peer, sequence_, steps_[i].message, steps_[i].channel->last_progress_ns()};
    }
  }
  return {-1, sequence_, 0, 0};
}

}  // namespace plumbline
