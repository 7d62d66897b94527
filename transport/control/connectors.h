// How a rank comes to its connections. HandshakeSocket: a Handshake over a connected socket.
// Dialer: one connection that this rank makes. Acceptor: those that come to it. None of them ever
// waits: their owner calls step() when poll(2) or the clock says so. One thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/fd.h"
#include "core/log.h"
#include "transport/address.h"
#include "transport/control/handshake.h"
#include "transport/control/poll_set.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"
#include "transport/transports.h"

namespace plumbline {

class RefusedTally;  // transport/transports.h

// So long may a peer take to prove who it is.
constexpr int64_t kHandshakeMs = 3000;

// A Handshake over a connected, non-blocking socket, with a deadline: moved on by its owner
// whenever poll(2) says so, never waiting. One thread.
class HandshakeSocket {
 public:
  // `where` stands in errors: "10.10.0.2:29601".
  HandshakeSocket(Fd fd, Handshake handshake, Deadline deadline, std::string where);

  void add_to(PollSet& poll);
  // Moves what can be moved. A lost connection or a passed deadline ends in kFailed too. kDone and
  // kFailed are reported only when all output has left (or cannot leave).
  Handshake::State step(const PollSet& poll);

  Handshake& handshake() { return handshake_; }
  // Why step() said kFailed; with the address.
  Error error() const;
  bool fatal() const { return own_error_.what.empty() && handshake_.fatal(); }
  Deadline deadline() const { return deadline_; }
  const std::string& where() const { return where_; }
  Fd take() { return std::move(fd_); }

 private:
  bool flush();
  bool fill();
  Handshake::State give_up(Error error);

  Fd fd_;
  Handshake handshake_;
  Deadline deadline_;
  std::string where_;
  size_t poll_index_ = PollSet::kNotAdded;
  Error own_error_;  // of the connection, not of the handshake; empty `what` = none
};

// One connection that this rank makes: tries the candidate address pairs again and again (the peer
// may start later) with a growing pause, goes through the handshake, and remembers what the last
// try was answered.
class Dialer {
 public:
  enum class State { kTrying, kDone, kFailed };

  // `self` must outlive the dialer. Gives up at the deadline. `stream` as Handshake::dialer.
  Dialer(const HandshakeIdentity& self, const TcpEndpoint& peer, Purpose purpose, size_t stream,
         std::vector<AddressPair> pairs, const SocketOptions& options, Deadline deadline);

  int peer() const { return peer_; }
  Purpose purpose() const { return purpose_; }
  size_t stream() const { return stream_; }
  void add_to(PollSet& poll);
  State step(const PollSet& poll);
  // When step() wants to be called even if nothing happened, monotonic ns.
  int64_t wake_at_ns() const;

  bool connected() const { return connected_.valid(); }
  // kDone: the connection, and the pair that it uses.
  Fd take() { return std::move(connected_); }
  const AddressPair& pair() const { return pairs_[at_]; }
  // What the last try was answered; empty `what` before the first answer.
  const Error& last_answer() const { return last_; }
  // kFailed because trying again cannot help, not because time is up.
  bool fatal() const { return fatal_; }

 private:
  void start_try();
  void finish_try(const PollSet& poll);
  void step_handshake(const PollSet& poll);
  void answered(Error error);

  const HandshakeIdentity& self_;
  int peer_;
  Purpose purpose_;
  size_t stream_;
  uint16_t port_;
  std::vector<AddressPair> pairs_;
  SocketOptions options_;
  Deadline deadline_;

  size_t at_ = 0;                 // pair of the current or last try
  int64_t pause_ns_ = 0;          // before the next try
  int64_t next_try_ns_ = 0;       // while pausing
  int64_t first_refusal_ns_ = 0;  // of the run token
  Fd connecting_;
  SocketAddress remote_;
  Deadline try_deadline_ = Deadline::never();
  size_t poll_index_ = PollSet::kNotAdded;
  std::optional<HandshakeSocket> handshake_;
  Fd connected_;
  Error last_;
  bool fatal_ = false;
};

// Lets a few lines through per period, and tells then how many it held back.
class LogLimit {
 public:
  LogLimit(const Logger* log, LogLevel level) : log_(log), level_(level) {}
  void line(const std::string& text);

 private:
  const Logger* log_;
  LogLevel level_;
  int64_t period_start_ns_ = 0;
  int lines_ = 0;
  uint64_t held_back_ = 0;
};

// The incoming side: takes connections from the listener and lets each prove within a few seconds
// who it is. Strangers (silence, garbage, a wrong token) are refused and counted, logged at a
// bounded rate where that is wanted (INFO), and never disturb the others: nothing here waits, and
// when too many are pending the oldest goes.
class Acceptor {
 public:
  // What the owner is asked and told.
  struct Owner {
    std::function<Admission(int peer, Purpose purpose, size_t stream)> admits;
    std::function<void(int peer, Purpose purpose, size_t stream, Fd fd)> connected;
    // `claimed` rank (-1 = none) was refused; fatal = it is authentic and disagrees for good.
    std::function<void(int claimed, const Error& error, bool fatal)> refused;
  };

  // `expected`: connections that the group's own ranks make, perhaps all at one time. `self` and
  // `listener` must outlive it; `refused` and `log` may be null.
  Acceptor(const HandshakeIdentity& self, const TcpListener& listener, Owner owner, size_t expected,
           RefusedTally* refused, const Logger* log);

  void add_to(PollSet& poll);
  void step(const PollSet& poll);
  int64_t wake_at_ns() const;

 private:
  void accept_all(const PollSet& poll);
  bool advance(HandshakeSocket& pending, const PollSet& poll);
  void refuse(HandshakeSocket& pending, const Error& error);

  const HandshakeIdentity& self_;
  const TcpListener& listener_;
  Owner owner_;
  const size_t max_pending_;  // handshakes at one time: strangers may call too
  RefusedTally* refused_;
  LogLimit trouble_, log_;
  std::deque<std::unique_ptr<HandshakeSocket>> pending_;  // oldest first
  std::vector<size_t> poll_indexes_;                      // of the listening sockets
  int64_t paused_until_ns_ = 0;  // no descriptors left: the listener would spin
};

}  // namespace plumbline
