#include "collectives/prepared.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/prepared_halves.h"
#include "collectives/time_parts.h"

namespace plumbline {
namespace {

constexpr uint64_t kLongSendBytes = 64 * 1024;

}  // namespace

Executor::Prepared::Prepared(PreparedHost& host, const KernelSet& kernels, PreparedTraits traits,
                             const Schedule& schedule, Array scratch)
    : host_(host),
      traits_(std::move(traits)),
      reduce_(kernels.reducer(traits_.spec.dtype, traits_.spec.redop, traits_.spec.fast_math)),
      scale_(kernels.scale_fn(traits_.spec.dtype)),
      copy_far_(kernels.copy_far),
      elem_size_(traits_.request.elem_size),
      scratch_(std::move(scratch)) {
  compile(schedule);
  // What others wait for goes out before this rank prepares to receive; but a send that takes far
  // longer than preparing may go out in another way where there is something to receive meanwhile.
  const auto turn = [this](uint32_t index) {
    const RunStep& step = steps_[index];
    if (step.kind != StepKind::kSend) return 1;
    return step.wire_bytes < kLongSendBytes ? 0 : 2;
  };
  std::stable_sort(first_steps_.begin(), first_steps_.end(),
                   [&](uint32_t a, uint32_t b) { return turn(a) < turn(b); });
  link(schedule);
  choose_stores(schedule);
  host_.active.reserve(++host_.prepared);
  states_ = initial_;
  sinks_.reserve(steps_.size());
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    sinks_.emplace_back(*this, i);
    steps_[i].sink = &sinks_.back();
  }
  const bool halved =
      std::any_of(steps_.begin(), steps_.end(), [](const RunStep& step) { return step.halved; });
  if (halved) halves_ = std::make_unique<Halves>(*this, kernels);
  queue_.reserve(steps_.size() * 2 + 1);
  long_local_.reserve(steps_.size());
}

Executor::Prepared::~Prepared() {
  --host_.prepared;
  if (parts_ != nullptr) time_parts(nullptr);
  if (!in_flight_) return;
  abandon({ErrorCode::kAborted, "the operation " + traits_.text + " was given up", 0, {}, {}});
  std::erase(host_.active, this);
}

void Executor::Prepared::compile(const Schedule& schedule) {
  const auto place = [this](const Range& range) {
    return Place{range.buffer, range.begin * elem_size_};
  };
  size_t places = 0, most = 0;
  for (const Step& step : schedule.steps) {
    places += step.more.size();
    most = std::max(most, step.more.size());
  }
  places_.reserve(places);
  sources_.resize(2 + most);
  for (const Step& step : schedule.steps) {
    RunStep run;
    run.kind = step.kind;
    run.action = step.action;
    run.source = place(step.source);
    run.operand = place(step.operand);
    run.dst = place(step.dst);
    run.bytes = (step.kind == StepKind::kSend ? step.source : step.dst).count * elem_size_;
    run.wire_bytes =
        (step.kind == StepKind::kSend ? step.source : step.dst).count * wire_size(step, elem_size_);
    run.peer = step.peer;
    run.message = step.message;
    run.streams_from = step.streams_from;
    run.waits_for = static_cast<uint32_t>(step.after.size());
    for (const Range& range : step.more) places_.push_back(place(range));
    run.more = std::span<const Place>(places_).last(step.more.size());
    run.reduces = step.action == Action::kReduce || step.action == Action::kReduceScale;
    run.halved = step.halved;
    run.rounds_source = step.rounds_source;
    run.rounds_operand = step.rounds_operand;
    run.rounds_result = step.rounds_result;
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

void Executor::Prepared::choose_stores(const Schedule& schedule) {
  const ScheduleRequest& request = traits_.request;
  // In place every result lies where an operand was, which is in the cache.
  if (request.in_place || layout_of(request).out_elems * elem_size_ < kFarBytes) return;
  std::vector<Range> read;
  const auto reads = [&read](const Range& range) {
    if (range.buffer == BufferId::kOut && range.count > 0) read.push_back(range);
  };
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::kRecv) reads(step.source);
    reads(step.operand);
    for (const Range& range : step.more) reads(range);
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = schedule.steps[i];
    const bool stores = step.kind == StepKind::kLocal || steps_[i].reduces;
    const bool once = step.action == Action::kCopy || step.action == Action::kReduce;
    if (!stores || !once || step.kind == StepKind::kSend || step.dst.buffer != BufferId::kOut) {
      continue;
    }
    const bool is_read = std::any_of(read.begin(), read.end(), [&step](const Range& range) {
      return range.begin < step.dst.begin + step.dst.count &&
             step.dst.begin < range.begin + range.count;
    });
    if (!is_read) steps_[i].stores = Stores::kFar;
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

void Executor::Prepared::time_parts(TimeParts* into) {
  parts_ = into;
  host_.group->time_waits(nullptr);
}

void Executor::Prepared::begin_parts() {
  started_ns_ = oldest_ns_ = monotonic_ns();
  host_.group->time_waits(&parts_->waits);
}

void Executor::Prepared::end_parts(bool was_oldest) {
  const int64_t now = monotonic_ns();
  ++parts_->operations;
  parts_->total_ns += now - started_ns_;
  parts_->queue_ns += (was_oldest ? oldest_ns_ : now) - started_ns_;
  if (host_.active.empty()) {
    host_.group->time_waits(nullptr);
  } else if (was_oldest) {
    host_.active.front()->oldest_ns_ = now;
  }
}

void Executor::Prepared::start(const void* in, void* out, float* residual) {
  if (parts_ != nullptr) begin_parts();
  SparseExchange* const sparse = traits_.sparse.get();
  if (sparse != nullptr) {
    // In place the input is where the result goes.
    sparse->begin(static_cast<const float*>(traits_.spec.in_place ? out : in),
                  static_cast<float*>(out), residual);
    out = sparse->frames();
  }
  auto* const out_bytes = static_cast<std::byte*>(out);
  bases_[static_cast<size_t>(BufferId::kOut)] = out_bytes;
  bases_[static_cast<size_t>(BufferId::kScratch)] = scratch_.data;
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
  if (sparse != nullptr) {
    ++host_.local_work;
  } else {
    launch_first();
  }
}

void Executor::Prepared::launch_first() {
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
  switch (step.kind) {
    case StepKind::kLocal:
      launch_local(index);
      break;
    case StepKind::kRecv:
      step.channel->post_recv({host_.group->id(), sequence_, step.message, traits_.op_hash},
                              step.wire_bytes, step.sink);
      break;
    case StepKind::kSend:
      launch_send(index);
      break;
  }
}

void Executor::Prepared::launch_send(uint32_t index) {
  const RunStep& step = steps_[index];
  const MessageTag tag{host_.group->id(), sequence_, step.message, traits_.op_hash};
  const bool streams = step.streams_from >= 0;
  uint64_t ready = streams ? states_[static_cast<size_t>(step.streams_from)].landed : step.bytes;
  const std::byte* message = at(step.source);
  if (step.halved) {
    if (!streams && ready > kSliceBytes) {
      ready = kSliceBytes;
      put_off(index);
    }
    ready = halves_->encode(index, ready);
    message = halves_->message(index);
  }
  states_[index].send = step.channel->post_send(tag, message, step.wire_bytes, ready, this, index);
}

// It would keep the channels waiting.
void Executor::Prepared::put_off(uint32_t index) {
  long_local_.push_back(index);
  ++host_.local_work;
}

void Executor::Prepared::launch_local(uint32_t index) {
  const RunStep& step = steps_[index];
  if (step.bytes > kSliceBytes) return put_off(index);
  apply_local(step, 0, step.bytes / elem_size_);
  states_[index].landed = step.bytes;
  states_[index].ended = true;
  enqueue(index);
}

void Executor::Prepared::apply_local(const RunStep& step, uint64_t first, uint64_t elements) {
  const std::byte* const source = at(step.source) + first * elem_size_;
  if (halves_) {
    halves_->apply(step, first, reinterpret_cast<const float*>(source), elements);
  } else {
    apply(step, first, source, elements);
  }
}

Expected<bool> Executor::Prepared::run_slice() {
  if (traits_.sparse && traits_.sparse->busy()) return run_sparse_slice();
  if (next_local_ == long_local_.size()) return false;
  run_step_slice(long_local_[next_local_]);
  return true;
}

void Executor::Prepared::run_step_slice(uint32_t index) {
  const RunStep& step = steps_[index];
  State& state = states_[index];
  const uint64_t bytes = std::min<uint64_t>(kSliceBytes, step.bytes - state.landed);
  const bool last = state.landed + bytes == step.bytes;
  if (last) {
    ++next_local_;
    --host_.local_work;
  }
  if (step.kind == StepKind::kSend) return extend(index, state.landed + bytes);
  apply_local(step, state.landed / elem_size_, bytes / elem_size_);
  state.landed += bytes;
  state.ended = last;
  enqueue(index);
  drain();
}

Expected<bool> Executor::Prepared::run_sparse_slice() {
  SparseExchange& sparse = *traits_.sparse;
  if (sparse.selecting()) {
    sparse.select();
    --host_.local_work;
    launch_first();
    sparse.clear();
    return true;
  }
  const Expected<bool> last = sparse.add_next();
  if (!last) return last;
  if (*last) {
    --host_.local_work;
    complete();
  }
  return true;
}

void Executor::Prepared::combine(const RunStep& step, uint64_t first, const std::byte* source,
                                 uint64_t elements) {
  const uint64_t offset = first * elem_size_;
  std::byte* const dst = at(step.dst) + offset;
  const std::byte* const operand = at(step.operand) + offset;
  if (step.more.empty() && step.stores == Stores::kNear) {
    reduce_.pair(dst, operand, source, elements);
    return;
  }
  sources_[0] = operand;
  sources_[1] = source;
  size_t count = 2;
  for (const Place& place : step.more) sources_[count++] = at(place) + offset;
  reduce_.many(dst, sources_.data(), count, elements, step.stores);
}

void Executor::Prepared::apply(const RunStep& step, uint64_t first, const std::byte* source,
                               uint64_t elements) {
  const int64_t begin = parts_ != nullptr ? monotonic_ns() : 0;
  std::byte* const dst = at(step.dst) + first * elem_size_;
  if (step.reduces) {
    combine(step, first, source, elements);
    source = dst;
  }
  if (step.action == Action::kReduceScale || step.action == Action::kScale) {
    scale_(dst, source, elements, traits_.request.size);
  } else if (!step.reduces && dst != source && elements > 0) {
    const size_t bytes = elements * elem_size_;
    step.stores == Stores::kFar ? copy_far_(dst, source, bytes)
                                : static_cast<void>(std::memcpy(dst, source, bytes));
  }
  if (parts_ != nullptr) parts_->local_ns += monotonic_ns() - begin;
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

// The second half of an allreduce copies too; but read, an allreduce is slower as often as faster.
// In place, its second half and the next one write what its first half has sent
// (docs/performance.md).
MessageUse Executor::Prepared::use() const {
  const Op op = traits_.spec.op;
  if (op == Op::kAllgather || op == Op::kAlltoall) return MessageUse::kAllCopy;
  const bool rewritten = op == Op::kAllreduce && traits_.spec.in_place;
  return rewritten ? MessageUse::kRewritten : MessageUse::kUnknown;
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
      extend(follower, states_[index].landed);
    } else if (may_launch(follower)) {
      launch(follower);
    }
  }
}

void Executor::Prepared::extend(uint32_t index, uint64_t bytes) {
  if (halves_) bytes = halves_->encode(index, bytes);
  steps_[index].channel->extend_send(states_[index].send, bytes);
}

void Executor::Prepared::end_step(uint32_t index) {
  --remaining_;
  for (uint32_t waiter : steps_[index].waiters) {
    --states_[waiter].waits_for;
    if (may_launch(waiter)) launch(waiter);
  }
}

void Executor::Prepared::complete() {
  if (traits_.sparse && !traits_.sparse->finished()) {
    traits_.sparse->arrived();
    ++host_.local_work;
    return;
  }
  in_flight_ = false;
  done_ = true;
  const bool was_oldest = host_.active.front() == this;
  std::erase(host_.active, this);
  if (parts_ != nullptr) end_parts(was_oldest);
  host_.group->control().end_operation(sequence_);
}

void Executor::Prepared::abandon(const Error& reason) {
  for (const RunStep& step : steps_) {
    if (step.channel != nullptr) step.channel->cancel(reason);
  }
  host_.local_work -= long_local_.size() - next_local_;
  if (traits_.sparse && traits_.sparse->busy()) --host_.local_work;
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
