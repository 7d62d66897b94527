// Bytes over one non-blocking socket, with a patience: how long a wait may last, and what ends it
// before that; small messages there and back; the sending end of one stream, as fast as the
// connection takes it or at a steady pace; numbered datagrams; who may send at the same time. What
// probes and link cells send stands on these; the data path of collectives does not (channel/).
// Every failure is kTimeout (the deadline), kAborted (whatever it was for has ended), kPeerLost
// (the other end closed) or what the system said. Thread-safe functions; a socket belongs to one
// thread, as does a value of each class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "transport/tcp/socket.h"

namespace plumbline {

struct Patience {
  Deadline deadline = Deadline::never();
  std::function<bool()> ended = {};  // give up now? Callable from any thread; empty = never
  int64_t spin_ns = 0;               // how long to try before sleeping in poll(2)
  bool yield = false;                // give the core away between these tries

  bool over() const { return deadline.passed() || (ended && ended()); }
  // The same with this deadline, or with one that is `ns` away at the most.
  Patience until(Deadline later) const { return {later, ended, spin_ns, yield}; }
  Patience within(int64_t ns) const {
    return until(Deadline::at_ns(std::min(deadline.at_ns(), Deadline::after_ns(ns).at_ns())));
  }
};

// The call would have had to wait: nothing is wrong.
bool would_wait(int err);

// Waits for `events` of poll(2), or an end of the connection.
Status await_ready(int fd, short events, const Patience& patience);
// Exactly `count` bytes.
Status send_all(int fd, const void* bytes, size_t count, const Patience& patience);
Status receive_all(int fd, void* bytes, size_t count, const Patience& patience);
// What is there, waiting for it; 0 = the other end has ended its direction.
Expected<size_t> receive_some(int fd, void* bytes, size_t count, const Patience& patience);
// The same without waiting; nullopt = nothing is there.
Expected<std::optional<size_t>> receive_now(int fd, void* bytes, size_t count);

// Sends the message and waits until as many bytes are back; ns. `message` is what came.
Expected<int64_t> round_trip(int fd, std::string& message, const Patience& patience);

// First byte of a message that is not to be answered, where the answering end heeds it.
constexpr char kLastMessage = '\1';

struct EchoSettings {
  size_t bytes = 64;               // of a message
  int64_t silence_ns = INT64_MAX;  // longest time without a message
  bool heeds_last = false;
  std::string early = {};  // what has been read of it before
};
// Returns every message until the last one, or until the other end ends: without a message that
// says so, that is kPeerLost.
Status echo_messages(int fd, const EchoSettings& settings, const Patience& patience);

// When the next one is due of what is sent at a steady pace. One thread.
class Pace {
 public:
  // One every `gap_ns`, from now on. After a late wake at most `most_behind` follow at once and the
  // rest is given up, so that the burst does not overrun what a steady flow would not.
  Pace(int64_t gap_ns, int most_behind);

  int64_t due_ns() const { return due_ns_; }
  // Sleeps until the next is due, but only some milliseconds: whether it is now. (poll(2) counts in
  // milliseconds, and messages come closer than that.)
  bool wait() const;
  // It was sent.
  void next() { due_ns_ = std::max(due_ns_ + gap_ns_, monotonic_ns() - behind_ns_); }

 private:
  int64_t gap_ns_, behind_ns_, due_ns_;
};

struct StreamLoad {
  Deadline until = Deadline::never();
  int64_t bytes = INT64_MAX;  // ends earlier, after so many
  size_t block = 256 << 10;   // bytes per write
  int64_t message_bytes = 0;  // not 0: messages of this size, at most `block`,
  int64_t gap_ns = 0;         // one in each gap
  int message_flags = 0;      // of send(2), beside the usual ones, for messages
};

// The sending end of one stream over a TCP connection: zeros for a time, as fast as the connection
// takes them or in messages at a steady pace. One thread.
class StreamSource {
 public:
  // The pace counts from now.
  StreamSource(int fd, const StreamLoad& load);

  bool done() const { return load_.until.passed() || sent_ >= load_.bytes; }
  int64_t sent() const { return sent_; }
  void end_at(Deadline until) { load_.until = until; }
  // Sends once, of what is due; false = the connection takes nothing now.
  Expected<bool> step();
  // Until it is done or the patience is over, neither of which is an error. `each` is called after
  // every step, and waits end for `events` of poll(2) too.
  Status run(const Patience& patience, const std::function<Status()>& each = {}, short events = 0);

 private:
  int fd_;
  StreamLoad load_;
  std::vector<char> zeros_;
  Pace pace_;
  int64_t sent_ = 0, unsent_ = 0;  // unsent_: of the message under way
};

// Who may send at the same time without being in another's way: the circle method of round-robin
// tournaments (Kirkman 1847; de Werra, "Scheduling in sports", 1981). Pure.
//
// Rounds of unordered pairs, the smaller first: each place at most once in a round, and every pair
// once in all of them: places - 1 rounds where these are even, else as many as places.
std::vector<std::vector<std::pair<size_t, size_t>>> disjoint_rounds(size_t places);

// Numbered datagrams at a steady pace: the sockets, the sender, what a receiver counts, and what a
// socket itself had no room for, so that a slow receiver is not taken for a lossy link. Sockets are
// non-blocking and close-on-exec. Platform differences: datagrams_linux.cc, datagrams_macos.cc.
// Thread-safe functions; a socket belongs to one thread.
//
// Bound to `local` (port 0 = any), asking for `receive_bytes` of buffer; 0 = the system's own.
Expected<Fd> open_datagram(const SocketAddress& local, int receive_bytes);
// Sends to one peer only and hears nobody else afterwards.
Status connect_datagram(int fd, const SocketAddress& remote);
// The size of the next datagram (cut to `bytes`), nullopt when none waits.
Expected<std::optional<size_t>> receive_datagram(int fd, void* data, size_t bytes);

struct DatagramLoad {
  int64_t gap_ns = kMillisecond;
  int most_behind = 10;  // as in Pace
  uint64_t count = 0;    // ends after so many, refused ones too
  Deadline until = Deadline::never();
};
struct DatagramsSent {
  uint64_t sent = 0;     // the system took them
  uint64_t refused = 0;  // it did not: a filter, a full queue, or a peer that listens no more
  int refusal = 0;       // errno of the last of these
  int64_t duration_ns = 0;
  Status status = {};  // what ended it early
};
// The datagram with this number (from 0 on; refused ones use none up), valid until the next call.
using DatagramFill = std::function<std::string_view(uint64_t number, int64_t now_ns)>;
// `to`: null for a connected socket.
DatagramsSent send_numbered(int fd, const SocketAddress* to, const DatagramLoad& load,
                            const DatagramFill& fill, const Patience& patience);

// --- what differs by platform -------------------------------------------------------------------

// Invalid with errno set on failure.
Fd new_datagram_socket(int family);
void set_receive_buffer(int fd, int bytes);
// Datagrams that came to this socket and found its buffer full, since it was made; nullopt where
// the system does not tell.
std::optional<uint64_t> socket_drops(int fd);

// What a receiver of numbered datagrams counts: arrivals, duplicates, reordering (RFC 4737, section
// 3: a datagram is reordered when a later-sent one came before it) and interarrival jitter (RFC
// 3550, section 6.4.1; the offset between the two clocks cancels out). Pure; one thread.
class DatagramTally {
 public:
  // Sequence numbers run from 0 to below `most`; others are ignored.
  explicit DatagramTally(uint64_t most) : seen_(most, false) {}

  // `sent_ns` on the sender's clock, `arrived_ns` on the receiver's.
  void add(uint64_t sequence, int64_t sent_ns, int64_t arrived_ns);

  uint64_t received() const { return received_; }  // each sequence number once
  uint64_t duplicates() const { return duplicates_; }
  uint64_t reordered() const { return reordered_; }
  std::optional<double> jitter_ns() const;  // needs two datagrams

 private:
  std::vector<bool> seen_;
  uint64_t received_ = 0, duplicates_ = 0, reordered_ = 0;
  uint64_t next_expected_ = 0;
  int64_t last_transit_ = 0;
  double jitter_ = 0;
};

}  // namespace plumbline
