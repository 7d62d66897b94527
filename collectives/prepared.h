// One operation that can be in flight: the schedule in the form that runs (addresses as offsets,
// who comes after whom as lists) and the state of each step. It reacts to events only: a
// receive grew, a send left, a step ended. Each event is put into a queue that is worked off at
// once by whoever is outermost, so that a channel may call back at any depth. After construction
// nothing is allocated. Internal to collectives/; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/aligned_bytes.h"
#include "collectives/executor.h"
#include "collectives/sparse_exchange.h"
#include "core/clock.h"
#include "transport/channel/channel.h"
#include "transport/peer_memory.h"

namespace plumbline {

// Received bytes are reduced through a window of this size (shared by all that an executor has
// prepared), and long local steps run in slices of it between rounds of progress: small enough for
// a second-level cache.
inline constexpr size_t kSliceBytes = 256 * 1024;

// Results of this size and more that nobody reads within the operation are written past the caches:
// by the time the caller reads them, the beginning of such an array has left the caches anyway.
inline constexpr size_t kFarBytes = 16 * 1024 * 1024;

// What a prepared operation needs of its executor.
struct PreparedHost {
  Group* group;
  std::byte* window;  // kSliceBytes
  uint32_t sequence = 0;
  size_t prepared = 0;    // alive
  size_t local_work = 0;  // long local steps that wait to be run, over all of them
  std::vector<Executor::Prepared*> active;  // in flight, oldest first
};

struct PreparedTraits {
  OperationSpec spec;
  const AlgorithmRow* algorithm;
  ScheduleRequest request;
  std::string text;
  uint32_t op_hash;
  // Of topk: the arrays are not what the schedule moves. Null = they are.
  std::unique_ptr<SparseExchange> sparse;
};

class Executor::Prepared : public SendObserver {
 public:
  Prepared(PreparedHost& host, const KernelSet& kernels, PreparedTraits traits,
           const Schedule& schedule, Array scratch);
  ~Prepared() override;

  const PreparedTraits& traits() const { return traits_; }
  bool in_flight() const { return in_flight_; }
  bool done() const { return done_; }

  // Connects to the peers; only the first call has to do anything.
  Status connect(Deadline deadline);
  bool connected() const { return connected_; }
  void start(const void* in, void* out, float* residual);
  void time_parts(TimeParts* into);
  // One slice of long local work; false = there is none. An Error is what a peer has sent.
  Expected<bool> run_slice();
  // Forgets the operation: channels may not call back any more.
  void abandon(const Error& reason);

  struct Pending {
    int peer = -1;
    uint32_t sequence = 0;
    uint32_t message = 0;
    int64_t last_progress_ns = 0;  // of the channel to the peer
  };
  // What it waits for: the first receive that has not ended, else the first such send.
  Pending pending() const;

  void sent(uint64_t step) override;
  MessageUse use() const override;

 private:
  // A place in one of the three buffers, in bytes.
  struct Place {
    BufferId buffer = BufferId::kOut;
    uint64_t offset = 0;
  };
  struct RunStep {
    StepKind kind = StepKind::kLocal;
    Action action = Action::kCopy;
    Place source, operand, dst;
    uint64_t bytes = 0;       // in memory
    uint64_t wire_bytes = 0;  // of the message
    RecvSink* sink = nullptr;
    int peer = -1;
    Channel* channel = nullptr;
    uint32_t message = 0;
    int32_t streams_from = -1;
    uint32_t waits_for = 0;               // number of steps
    std::span<const uint32_t> waiters;    // steps that wait for this one
    std::span<const uint32_t> followers;  // sends that stream from it
    std::span<const Place> more;          // further operands of a local reduction
    bool reduces = false;
    // Steps of compressed schedules (collectives/schedule.h).
    bool halved = false, rounds_source = false, rounds_operand = false, rounds_result = false;
    Stores stores = Stores::kNear;
  };
  struct State {
    uint64_t landed = 0;  // bytes written to dst
    Channel::SendId send = 0;
    uint32_t waits_for = 0;
    bool launched = false, ended = false, queued = false;
    uint8_t carried = 0;      // bytes in `carry`
    std::byte carry[8] = {};  // the beginning of an element whose end has not come
  };
  class Sink : public RecvSink {
   public:
    Sink(Prepared& prepared, uint32_t step) : prepared_(prepared), step_(step) {}
    std::span<std::byte> window() override { return prepared_.window(step_); }
    void advance(size_t bytes) override { prepared_.advance(step_, bytes); }
    size_t usable(std::span<const std::byte> bytes) override {
      return prepared_.usable(step_, bytes);
    }
    void use(std::span<const std::byte> bytes) override { prepared_.use(step_, bytes); }
    bool keeps_window() const override { return !prepared_.steps_[step_].reduces; }

   private:
    Prepared& prepared_;
    uint32_t step_;
  };
  // What operations in 16 bits need beside (prepared_halves.cc).
  struct Halves;

  void compile(const Schedule& schedule);
  void link(const Schedule& schedule);
  // Decides how the steps store their results.
  void choose_stores(const Schedule& schedule);
  std::byte* at(const Place& place) const {
    return bases_[static_cast<size_t>(place.buffer)] + place.offset;
  }
  std::span<std::byte> window(uint32_t step);
  void advance(uint32_t step, size_t bytes);
  // Received bytes that are reduced straight from where they lie: whole elements, in their place.
  size_t usable(uint32_t step, std::span<const std::byte> bytes) const;
  void use(uint32_t step, std::span<const std::byte> bytes);
  void landed(uint32_t step);
  // dst = operand (op) source (op) more ..., from element `first` of the step on.
  void combine(const RunStep& step, uint64_t first, const std::byte* source, uint64_t elements);
  // dst[first ..] = the step's action on `elements` elements at `source`.
  void apply(const RunStep& step, uint64_t first, const std::byte* source, uint64_t elements);
  void launch(uint32_t step);
  void launch_first();
  void launch_local(uint32_t step);
  void launch_send(uint32_t step);
  // Of a local step, from element `first` on.
  void apply_local(const RunStep& step, uint64_t first, uint64_t elements);
  void run_step_slice(uint32_t step);
  // More of a send has become ready: so many bytes of its source in all.
  void extend(uint32_t step, uint64_t bytes);
  void put_off(uint32_t step);
  // Before and after the schedule of topk.
  Expected<bool> run_sparse_slice();
  bool may_launch(uint32_t step) const;
  void enqueue(uint32_t step);
  void drain();
  void end_step(uint32_t step);
  void feed_followers(uint32_t step);
  void complete();
  void begin_parts();
  void end_parts(bool was_oldest);

  PreparedHost& host_;
  PreparedTraits traits_;
  Reducer reduce_;
  ScaleFn scale_;
  CopyFn copy_far_;
  size_t elem_size_;
  const Array scratch_;
  std::vector<RunStep> steps_;
  std::vector<uint32_t> links_;       // behind the spans of steps_
  std::vector<Place> places_;         // likewise
  std::vector<const void*> sources_;  // of the reduction that runs
  std::vector<State> initial_, states_;
  std::vector<Sink> sinks_;            // one per step, used by receives
  std::vector<uint32_t> first_steps_;  // that may start at once
  std::vector<uint32_t> queue_;        // events
  std::vector<uint32_t> long_local_;   // steps; those before next_local_ have run
  size_t next_local_ = 0;
  std::unique_ptr<Halves> halves_;  // null = numbers travel as they are
  std::byte* bases_[3] = {nullptr, nullptr, nullptr};
  size_t remaining_ = 0;  // steps
  uint32_t sequence_ = 0;
  TimeParts* parts_ = nullptr;              // where its times go; null = they are not taken
  int64_t started_ns_ = 0, oldest_ns_ = 0;  // when it started, and when it became the oldest
  bool connected_ = false, in_flight_ = false, done_ = false, draining_ = false;
};

}  // namespace plumbline
