// A Group is one rank's view of a world of ranks: its number, the size, a Channel to every peer,
// the control plane that carries aborts and answers "what are you doing", and the one function with
// which everything waits. Every wait has a deadline; a lost peer, an abort of another rank or a
// protocol error comes back as an Error in the caller's thread and never ends the process. One
// thread (the rank's) uses a Group; only control() may be used from others.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "transport/channel/channel.h"
#include "transport/peer_memory.h"

namespace plumbline {

// What a rank is doing now, as its peers may ask. `operation` is human text: "allreduce f32 sum 64
// KiB ring".
struct RankStatus {
  int rank = -1;
  uint32_t sequence = 0;  // of the newest operation started; 0 = none yet
  uint32_t op_hash = 0;
  std::string operation;      // text of that operation
  bool in_operation = false;  // false = between operations (computing, sleeping, hung elsewhere)
  int waiting_for = -1;       // peer whose bytes it waits for, -1 = none
  uint32_t step = 0;          // of the message that it waits for
  int64_t since_progress_ns = 0;  // age of its last moved byte when the status was taken
  int64_t age_ns =
      0;  // age of this status when it was read; large = its control thread does not answer
  bool reachable = true;  // false = the one who asks has no connection with it
};

// One entry of the flight recorder: the last operations of a rank, newest last.
struct FlightEntry {
  uint32_t sequence = 0;
  uint32_t op_hash = 0;
  std::string operation;
  bool finished = false;
};

// The control plane: lives beside the data, never behind it. Implementations: memory (shared), tcp
// (a thread with one connection per peer). All methods are thread-safe.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;

  // Cheap; checked on every progress round.
  virtual bool failed() const = 0;
  // The first fault that this rank learned of (its own or relayed); valid when failed().
  virtual Error failure() const = 0;
  // Declares the group broken and tells every rank why. The first reason stays.
  virtual void abort(const Error& reason) = 0;
  // The same on behalf of the coordinator, which tells every rank itself.
  virtual void give_up(const Error& reason) { abort(reason); }

  // The rank's thread publishes what it does (cheap: a short lock, no system call).
  virtual void begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) = 0;
  virtual void end_operation(uint32_t sequence) = 0;
  virtual void waiting(int peer, uint32_t step, int64_t last_progress_ns) = 0;

  // Asks a peer for its status and its last operations; falls back on the last heartbeat when it
  // does not answer in time (then age_ns tells). Never blocks beyond the deadline.
  virtual RankStatus query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder) = 0;
  // This rank's own recorder.
  virtual std::vector<FlightEntry> recorder() const = 0;
  // Descriptor that becomes readable when failed() turns true, for poll(2); -1 when there is none.
  virtual int wake_fd() const = 0;
};

// What carries the bytes of a pair of ranks, as the table of transports calls it.
struct PairTransport {
  std::string name;    // empty = they are not connected (yet)
  std::string reason;  // why it is no more than this, where more was tried; mostly empty
};

// The same for all pairs of one rank. Filled in as they are connected, by the rank's thread.
class PairTransports {
 public:
  // `name` counts where this rank has no pair yet.
  PairTransports(std::string name, int ranks)
      : name_(std::move(name)), pairs_(static_cast<size_t>(ranks)) {}

  PairTransport& of(int peer) { return pairs_[static_cast<size_t>(peer)]; }
  const std::vector<PairTransport>& by_peer() const { return pairs_; }
  bool any(std::string_view name) const;
  // "shm", "tcp", or "shm+tcp" where they are not all alike.
  std::string name() const;

 private:
  std::string name_;
  std::vector<PairTransport> pairs_;
};

struct WaitOptions {
  static constexpr int64_t kForever = INT64_MAX;

  int64_t spin_ns = 50'000;  // how long to try before sleeping in poll(2); kForever = never sleep
  bool yield = false;        // give the core away between tries: ranks outnumber cores
  // Asked while nothing moves: has the group failed? A Group fills it in; empty = never.
  std::function<bool()> failed = {};
};

// What waiting took so far. A stall begins where a few tries in a row moved nothing.
struct WaitStats {
  uint64_t polls = 0, yields = 0;          // system calls; naps are among the polls
  std::array<uint64_t, kStalls> stalls{};  // by Stall
};

// Time in which wait() found nothing to move, ns, by Stall.
using WaitTimes = std::array<int64_t, kStalls>;

class Group {
 public:
  // Connects to a peer when it is first needed (lazy mesh); null for transports that are complete
  // from the start.
  using Connect = std::function<Expected<std::unique_ptr<ByteStream>>(int peer, Deadline deadline)>;

  Group(int rank, int size, uint32_t id, std::vector<std::unique_ptr<ByteStream>> streams,
        Connect connect, std::shared_ptr<ControlPlane> control,
        const ChannelOptions& channel_options, const WaitOptions& wait_options,
        std::shared_ptr<const PairTransports> pairs, std::shared_ptr<ArrayPool> arrays = nullptr);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const;
  int size() const;
  uint32_t id() const;
  // What the pairs of this rank that are connected so far use (PairTransports::name).
  std::string transport_name() const;
  const std::vector<PairTransport>& pair_transports() const;
  ControlPlane& control();

  // The channel to `peer` (!= rank()), connecting first in a lazy mesh. The pointer stays valid for
  // the Group's life.
  Expected<Channel*> channel(int peer, Deadline deadline);

  // One round over all channels that have something to do. true = something moved.
  Expected<bool> progress();
  // What has moved until now gets its time, for those who ask when that was: wait() does it by
  // itself, who waits by rounds of progress() now and then.
  void note_time();
  // Progresses until done() holds. Spins first, then sleeps in poll(2). kTimeout when the deadline
  // passes (the caller adds what it was waiting for), kAborted and others when the group fails.
  Status wait(const std::function<bool()>& done, Deadline deadline);

  // An array that peers reach by themselves where the transport can (transport/peer_memory.h); any
  // other may be sent and received as well. Its memory is not touched.
  Expected<Array> allocate(size_t bytes) const;

  // Sum over all channels.
  ChannelStats stats() const;
  const WaitStats& wait_stats() const;
  // From now on wait() adds up there what it waits for, at the price of reading the clock in every
  // round; null = no more.
  void time_waits(WaitTimes* into);
  // Kernel's view of each connected channel; null entries where none.
  std::vector<std::optional<StreamStats>> stream_stats() const;
  const WaitOptions& wait_options() const;
  const ChannelOptions& channel_options() const;

  // Who is really at fault when this rank waited in vain for `peer`: follows "waits for" from rank
  // to rank through the control plane and says it in words: a dead or silent rank, one that is not
  // in any operation, or ranks that called different operations (sequence, op, bytes, dtype, root
  // named). Takes at most 1 s.
  Error blame(int peer, uint32_t sequence, uint32_t step, const std::string& operation);
  // The same for an error on the bare stream to `peer` (roofs): what the control plane knows of it,
  // or who is at fault, and every rank is told.
  Error fail_stream(int peer, const Error& error, const std::string& doing);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumbline
