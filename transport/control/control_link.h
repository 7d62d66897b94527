// One control connection: whole messages in, whole messages out, over a non-blocking socket. Output
// waits in memory until the socket takes it; input is cut into messages. One thread.
#pragma once

#include <functional>
#include <vector>

#include "core/fd.h"
#include "transport/control/control_messages.h"
#include "transport/control/poll_set.h"

namespace plumbline {

class ControlLink {
 public:
  // false = the fields make no sense; the link is given up.
  using Handler = std::function<bool(ControlKind kind, std::span<const std::byte> fields)>;

  explicit ControlLink(Fd fd) : fd_(std::move(fd)) {}

  void add_to(PollSet& poll);
  // Moves what can be moved; an error means that the connection is gone (kPeerLost) or that the
  // peer talks nonsense (kProtocol). Messages that came before the end are handed over first.
  Status step(const PollSet& poll, const Handler& handler);

  void send(std::span<const std::byte> message);
  size_t unsent() const { return output_.size() - sent_; }
  // No more output will come: tells the peer so once everything has left.
  void finish();

 private:
  Status flush();
  Status fill(const Handler& handler);
  Status cut(const Handler& handler);

  Fd fd_;
  size_t poll_index_ = PollSet::kNotAdded;
  std::vector<std::byte> output_, input_;
  size_t sent_ = 0;
  bool finishing_ = false, shut_ = false;
};

}  // namespace plumbline
