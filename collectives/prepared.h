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

#include "collectives/executor.h"
#include "core/clock.h"
#include "transport/channel/channel.h"

namespace plumbline {

// Bytes aligned for SIMD and cache lines, not initialised.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t bytes);
  std::byte* get() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Delete> data_;
};

// Received bytes are reduced through a window of this size (shared by all that an executor has
// prepared), and long local steps run in slices of it between rounds of progress: small enough for
// a second-level cache.
inline constexpr size_t kSliceBytes = 256 * 1024;

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
};

class Executor::Prepared : public SendObserver {
 public:
  Prepared(PreparedHost& host, const KernelSet& kernels, PreparedTraits traits, Schedule schedule);
  ~Prepared() override;

  const PreparedTraits& traits() const { return traits_; }
  bool in_flight() const { return in_flight_; }
  bool done() const { return done_; }

  // Connects to the peers; only the first call has to do anything.
  Status connect(Deadline deadline);
  bool connected() const { return connected_; }
  void start(const void* in, void* out);
  // One slice of a long local step; false = there is none.
  bool run_slice();
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
    uint64_t bytes = 0;
    int peer = -1;
    Channel* channel = nullptr;
    uint32_t message = 0;
    int32_t streams_from = -1;
    uint32_t waits_for = 0;               // number of steps
    std::span<const uint32_t> waiters;    // steps that wait for this one
    std::span<const uint32_t> followers;  // sends that stream from it
    bool reduces = false;
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

   private:
    Prepared& prepared_;
    uint32_t step_;
  };

  void compile(const Schedule& schedule);
  void link(const Schedule& schedule);
  std::byte* at(const Place& place) const {
    return bases_[static_cast<size_t>(place.buffer)] + place.offset;
  }
  std::span<std::byte> window(uint32_t step);
  void advance(uint32_t step, size_t bytes);
  // Received bytes that are reduced straight from where they lie: whole elements, in their place.
  size_t usable(uint32_t step, std::span<const std::byte> bytes) const;
  void use(uint32_t step, std::span<const std::byte> bytes);
  void landed(uint32_t step);
  // dst[first ..] = the step's action on `elements` elements at `source`.
  void apply(const RunStep& step, uint64_t first, const std::byte* source, uint64_t elements);
  void launch(uint32_t step);
  void launch_local(uint32_t step);
  bool may_launch(uint32_t step) const;
  void enqueue(uint32_t step);
  void drain();
  void end_step(uint32_t step);
  void feed_followers(uint32_t step);
  void complete();

  PreparedHost& host_;
  PreparedTraits traits_;
  ReduceFn reduce_;
  ScaleFn scale_;
  size_t elem_size_;
  AlignedBytes scratch_;
  std::vector<RunStep> steps_;
  std::vector<uint32_t> links_;  // behind the spans of steps_
  std::vector<State> initial_, states_;
  std::vector<Sink> sinks_;            // one per step, used by receives
  std::vector<uint32_t> first_steps_;  // that may start at once
  std::vector<uint32_t> queue_;        // events
  std::vector<uint32_t> long_local_;   // steps; those before next_local_ have run
  size_t next_local_ = 0;
  std::byte* bases_[3] = {nullptr, nullptr, nullptr};
  size_t remaining_ = 0;  // steps
  uint32_t sequence_ = 0;
  bool connected_ = false, in_flight_ = false, done_ = false, draining_ = false;
};

}  // namespace plumbline
