// A Handshake over a connected, non-blocking socket, with a deadline: moved on by its owner
// whenever poll(2) says so, never waiting. One thread.
#pragma once

#include <string>

#include "core/clock.h"
#include "core/fd.h"
#include "transport/control/handshake.h"
#include "transport/control/poll_set.h"

namespace plumbline {

// So long may a peer take to prove who it is.
constexpr int64_t kHandshakeMs = 3000;

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

}  // namespace plumbline
