// The incoming side: takes connections from the listener and lets each prove within a few seconds
// who it is. Strangers (silence, garbage, a wrong token) are refused and counted, logged at a
// bounded rate where that is wanted (INFO), and never disturb the others: nothing here waits, and
// when too many are pending the oldest goes. One thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "core/log.h"
#include "transport/control/handshake_socket.h"
#include "transport/control/refused.h"
#include "transport/tcp/tcp_listener.h"

namespace plumbline {

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

class Acceptor {
 public:
  // What the owner is asked and told.
  struct Owner {
    std::function<bool(int peer, Purpose purpose)> has_already;
    std::function<void(int peer, Purpose purpose, Fd fd)> connected;
    // `claimed` rank (-1 = none) was refused; fatal = it is authentic and disagrees for good.
    std::function<void(int claimed, const Error& error, bool fatal)> refused;
  };

  // `self` and `listener` must outlive it; `refused` and `log` may be null.
  Acceptor(const HandshakeIdentity& self, const TcpListener& listener, Owner owner,
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
  RefusedTally* refused_;
  LogLimit trouble_, log_;
  std::deque<std::unique_ptr<HandshakeSocket>> pending_;  // oldest first
  std::vector<size_t> poll_indexes_;                      // of the listening sockets
  int64_t paused_until_ns_ = 0;  // no descriptors left: the listener would spin
};

}  // namespace plumbline
