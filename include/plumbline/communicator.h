// A Communicator is one rank's place in a group of ranks that run collective operations together:
// what NCCL calls a communicator and gloo a context, for memory of the host. Every rank starts the
// same operations in the same order; each start returns a Work, and the buffers belong to the
// operation until the Work has been waited for.
//
//   ErrorOr<Communicator> group = Communicator::connect(rank, size, exchange);
//   if (!group) return complain(group.error().message());
//   std::vector<float> gradient = ...;
//   const Done done = group->allreduce(gradient, RedOp::kAvg).wait(std::chrono::seconds(5));
//
// Groups within groups: split() gives ranks that say the same colour a Communicator of their own,
// such as the rows and the columns of a mesh. Many small arrays are one operation with
// allreduce_coalesced().
//
// Threads: one at a time uses a Communicator and its Works; only abort() and failure() may be
// called from others meanwhile. Each Communicator may have a thread of its own, also where one was
// split from the other. An operation moves on while its rank is in a call of its Communicator, or
// waits for, or tests, a Work of one that is related to it by split().
//
// Failures: the first one ends the group on all ranks, and every later call gives it: a lost rank
// by its number, a deadline with the rank that was at fault, operations that differ with both. To
// go on, connect again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plumbline/error.h"
#include "plumbline/options.h"
#include "plumbline/types.h"

namespace plumbline {

class CommunicatorImpl;

// An operation that was started, or the reason why it was not. May be dropped, which ends nothing:
// the buffers stay in use until the Communicator is gone. Must not be used by two threads at once.
class [[nodiscard]] Work {
 public:
  // Waits until it is done on this rank, so that its buffers may be used again. When that takes
  // longer than the time given, the group ends, and the Error says who did not come. Without a
  // time: the setting watchdog_timeout_ms.
  Done wait(std::chrono::milliseconds patience);
  Done wait();
  // Moves it on as far as it goes without waiting; true = it is done.
  ErrorOr<bool> test();

 private:
  friend CommunicatorImpl;
  Work(std::weak_ptr<CommunicatorImpl> owner, ErrorOr<uint64_t> ticket)
      : owner_(std::move(owner)), ticket_(std::move(ticket)) {}

  std::weak_ptr<CommunicatorImpl> owner_;
  ErrorOr<uint64_t> ticket_;
};

// How ranks find one another: gets the bytes that say how to reach this rank and returns those of
// all ranks, in rank order. It is the allgather of whatever starts the ranks: MPI, a key-value
// store, a folder, a pipe. What it returns must be the same on all ranks. How long it may take is
// its own affair.
using EndpointExchange =
    std::function<ErrorOr<std::vector<std::string>>(const std::string& own_endpoint)>;

class Communicator {
 public:
  // Called by all ranks at about the same time; takes the setting connect_timeout_ms at most, and
  // the exchange. The Error names the ranks that did not come, or what is wrong with an option.
  static ErrorOr<Communicator> connect(int rank, int size, const EndpointExchange& exchange,
                                       const Options& options = {});
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  // Gives up what is under way. Others see a rank that has left; at most half a second.
  ~Communicator();

  int rank() const;
  int size() const;

  // Called by all ranks, in the same place among their operations, as MPI_Comm_split and
  // ncclCommSplit: those that say the same colour get a group of their own, with new ranks by key,
  // and by old rank where keys are alike. Without a colour (std::nullopt) a rank takes part in the
  // call and gets no Communicator.
  //
  // The new group has connections, a control thread and listening ports (any that are free) of its
  // own and fails by itself; either may be destroyed first. Options are those of this one. Waits
  // as an operation does (watchdog_timeout_ms), then for the members as connect() does
  // (connect_timeout_ms); operations under way may stand still meanwhile. Ranks that call anything
  // else end this group; a member that cannot take part is an Error on all members, which ends
  // nothing. Errors of the new group have both numbers of the ranks that they name.
  ErrorOr<std::optional<Communicator>> split(std::optional<int> colour, int key = 0);
  // Of each rank of this group its number in the one that it was split from, by rank; empty = it
  // was not split from another.
  const std::vector<int>& parent_ranks() const;

  // Elements of `in` and `out`, where n ranks take part ("-": not used, may be {}):
  //                    in       out               in       out
  //   allreduce        c        c        reduce   c        root: c,     others -
  //   reduce_scatter   n * c    c        gather   c        root: n * c, others -
  //   allgather        c        n * c    scatter  root: n * c, others -    c
  //   alltoall         n * c    n * c    broadcast: c, and the root's is what all get
  // An operation is in place where `in` is the memory of `out`, or this rank's part of the larger
  // of the two (NCCL's rule); otherwise they must not overlap.
  Work allreduce(ConstBuffer in, Buffer out, RedOp op = RedOp::kSum);
  Work allreduce(Buffer inout, RedOp op = RedOp::kSum);
  // All arrays of a list, each in its place, as one operation (the buckets of a training step):
  // faster than one after another where many are small. Elements are of one type, arrays do not
  // overlap and may be empty, and number and sizes are the same on all ranks, which is compared.
  // Arrays below 128 KiB are copied together, into memory of the library that is kept for later
  // lists; larger ones are not copied. All ranks get the same bits, and from the same list again
  // those again; they may differ in rounding from what one allreduce for each array gives. When it
  // fails, arrays may be done, untouched or in between.
  Work allreduce_coalesced(std::vector<Buffer> arrays, RedOp op = RedOp::kSum);
  Work reduce_scatter(ConstBuffer in, Buffer out, RedOp op = RedOp::kSum);
  Work allgather(ConstBuffer in, Buffer out);
  Work alltoall(ConstBuffer in, Buffer out);
  Work reduce(ConstBuffer in, Buffer out, int root, RedOp op = RedOp::kSum);
  Work gather(ConstBuffer in, Buffer out, int root);
  Work scatter(ConstBuffer in, Buffer out, int root);
  Work broadcast(Buffer inout, int root);
  // No rank is done before all have started it.
  Work barrier();

  // Ends the group on all ranks; their calls give this reason. Thread-safe.
  void abort(const std::string& reason);
  // Why the group has ended, if it has. Thread-safe.
  std::optional<Error> failure() const;

 private:
  friend ErrorOr<std::vector<Communicator>> local_ranks(int size, const Options& options);
  explicit Communicator(std::shared_ptr<CommunicatorImpl> impl);

  std::shared_ptr<CommunicatorImpl> impl_;
};

// All ranks of a group inside this process, which move their data through memory, for threads of
// one process and for tests. Each is to be used by a thread of its own. Of the options only the
// settings and the log have a meaning.
ErrorOr<std::vector<Communicator>> local_ranks(int size, const Options& options = {});

}  // namespace plumbline
