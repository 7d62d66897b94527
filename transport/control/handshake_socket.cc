#include "transport/control/handshake_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "transport/tcp/socket.h"

namespace plumbline {

using State = Handshake::State;

HandshakeSocket::HandshakeSocket(Fd fd, Handshake handshake, Deadline deadline, std::string where)
    : fd_(std::move(fd)),
      handshake_(std::move(handshake)),
      deadline_(deadline),
      where_(std::move(where)) {}

void HandshakeSocket::add_to(PollSet& poll) {
  const bool writes = !handshake_.output().empty();
  poll_index_ = poll.add(fd_.get(), writes ? POLLIN | POLLOUT : POLLIN);
}

State HandshakeSocket::give_up(Error error) {
  own_error_ = std::move(error);
  return State::kFailed;
}

// true = all output has left.
bool HandshakeSocket::flush() {
  while (!handshake_.output().empty()) {
    const std::span<const std::byte> bytes = handshake_.output();
    const ssize_t done = ::send(fd_.get(), bytes.data(), bytes.size(), send_flags());
    if (done < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        own_error_ = socket_error("handshake with " + where_, errno);
      }
      return false;
    }
    handshake_.sent(static_cast<size_t>(done));
  }
  return true;
}

// true = some bytes came. Reads exactly what the handshake wants: what follows is the stream's.
bool HandshakeSocket::fill() {
  std::array<std::byte, 512> buffer;
  const size_t wanted = std::min(handshake_.wanted(), buffer.size());
  if (wanted == 0) return false;
  const ssize_t done = ::recv(fd_.get(), buffer.data(), wanted, 0);
  if (done > 0) {
    handshake_.received(std::span(buffer).first(static_cast<size_t>(done)));
    return true;
  }
  if (done == 0) {
    own_error_ = {ErrorCode::kPeerLost,
                  where_ + " closed the connection during the handshake",
                  0,
                  "another program, or a rank that is just ending",
                  {}};
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    own_error_ = socket_error("handshake with " + where_, errno);
  }
  return false;
}

State HandshakeSocket::step(const PollSet& poll) {
  if (deadline_.passed()) {
    return give_up({ErrorCode::kTimeout, where_ + " accepts, but does not answer the handshake", 0,
                    "another program uses the port, or that rank's process is stopped",
                    "tcp.wrong_service"});
  }
  const bool fired = poll.fired(poll_index_);
  poll_index_ = PollSet::kNotAdded;
  if (!fired) return State::kRunning;
  do {
    const bool flushed = flush();
    if (!own_error_.what.empty()) return State::kFailed;
    if (handshake_.state() != State::kRunning) {
      return flushed || handshake_.state() == State::kAuthenticated ? handshake_.state()
                                                                    : State::kRunning;
    }
  } while (fill());
  return own_error_.what.empty() ? State::kRunning : State::kFailed;
}

Error HandshakeSocket::error() const {
  if (!own_error_.what.empty()) return own_error_;
  Error error = handshake_.error();
  error.what += " (" + where_ + ")";
  return error;
}

}  // namespace plumbline
