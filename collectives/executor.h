// The executor runs any schedule over a Group: it posts what may be posted, reduces received bytes
// while they are in cache, forwards finished prefixes, and keeps several operations in flight. A
// Prepared is a schedule made ready once per shape and reused: starting it allocates nothing. Not
// thread-safe: one executor per rank thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/schedule.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/split.h"
#include "kernels/kernels.h"
#include "transport/group.h"

namespace plumbline {

struct TimeParts;

struct OperationSpec {
  Op op = Op::kAllreduce;
  DType dtype = DType::kF32;
  RedOp redop = RedOp::kSum;
  int root = 0;
  uint64_t count = 0;  // elements of one rank's argument
  bool in_place = false;
  std::string algorithm = "auto";
  Codec codec = {};  // of an allreduce; with one rank nothing travels, and nothing is compressed
  bool fast_math = false;
  uint64_t small_bytes = 0;  // see find_algorithm
  uint64_t segment_bytes = 256 * 1024;
  // > 1: `count` elements in so many arrays, as one operation of an engine
  // (collectives/list_work.h). The executor runs the parts of such a list, not the list.
  int arrays = 1;
  // Groups of the ranks, each of which runs it by itself at the same time; root and count are those
  // of a group. Its ranks are numbered in their order.
  Split split = {};
  // What the operation is a part of: "split". Ranks that differ in it have called different things,
  // and are told. Empty = nothing but itself.
  std::string purpose = {};

  // "allreduce f32 sum 64 KiB root 0 ring": what mismatch messages and the flight recorder show.
  std::string text(int size, const char* algorithm_name) const;
};

// The place of a rank among those that run the operation with it.
struct OperationSeat {
  int rank = 0, size = 1;
};
OperationSeat seat_of(const OperationSpec& spec, const Group& group);

class Executor {
 public:
  class Prepared;  // opaque; owned by the executor's user, must not outlive the executor
  using PreparedPtr = std::unique_ptr<Prepared, void (*)(Prepared*)>;

  // `apart`: pairs of ranks that are never connected, the same on all ranks.
  Executor(Group& group, const KernelSet& kernels, RankPairs apart = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const RankPairs& apart() const;

  // Builds the schedule, its scratch and its state. Errors: unknown or unsupported algorithm, bad
  // root.
  Expected<PreparedPtr> prepare(const OperationSpec& spec);
  // By its full name: "exchange:2x2".
  static std::string algorithm_of(const Prepared& prepared);
  // Of this rank's schedule alone: no depth.
  static ScheduleCost cost_of(const Prepared& prepared);

  // From its next start on it adds its times up there (collectives/time_parts.h); null = no more.
  // Not while it is in flight, and alone: with another in flight that does not, times would mix.
  static void time_parts(Prepared& prepared, TimeParts* into);

  // Starts it on these buffers (sizes as shape_of says; in place: as schedule.h says, `in` may be
  // null then). It can be in flight once at a time; prepare several for k outstanding. All ranks
  // must start the same operations in the same order. `residual` is for topk
  // (collectives/sparse_exchange.h): one a buffer, kept by its owner; null = what is not sent is
  // lost.
  Status start(Prepared& prepared, const void* in, void* out, float* residual = nullptr);
  static bool done(const Prepared& prepared);
  // Waits for it; a timeout becomes an Error with the blame (who waits for whom), and the group is
  // aborted with it.
  Status wait(Prepared& prepared, Deadline deadline);
  // start + wait.
  Status run(Prepared& prepared, const void* in, void* out, Deadline deadline,
             float* residual = nullptr);
  // One round of progress for all operations in flight, without waiting. true = something moved.
  Expected<bool> progress();
  // Something is in flight.
  bool busy() const;
  // Publishes what the oldest operation in flight waits for, as wait() does by itself: for whoever
  // waits by rounds of progress().
  void tell() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumbline
