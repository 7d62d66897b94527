// One connection that this rank makes: tries the candidate address pairs again and again (the peer
// may start later) with a growing pause, goes through the handshake, and remembers what the last
// try was answered. Never waits; its owner calls step() when poll(2) or the clock says so. One
// thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "transport/address.h"
#include "transport/control/handshake_socket.h"
#include "transport/tcp/socket.h"

namespace plumbline {

class Dialer {
 public:
  enum class State { kTrying, kDone, kFailed };

  // `self` must outlive the dialer. Gives up at the deadline.
  Dialer(const HandshakeIdentity& self, const TcpEndpoint& peer, Purpose purpose,
         std::vector<AddressPair> pairs, const SocketOptions& options, Deadline deadline);

  int peer() const { return peer_; }
  Purpose purpose() const { return purpose_; }
  void add_to(PollSet& poll);
  State step(const PollSet& poll);
  // When step() wants to be called even if nothing happened, monotonic ns.
  int64_t wake_at_ns() const;

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

}  // namespace plumbline
