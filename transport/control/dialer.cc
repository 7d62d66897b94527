#include "transport/control/dialer.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

constexpr int64_t kFirstPauseNs = 20 * kMillisecond, kLongestPauseNs = 200 * kMillisecond;
constexpr int64_t kConnectTryMs = 3000;  // one lost SYN is sent again after 1 s (RFC 6298)
// A process of the run before may hold the peer's port for a moment while it ends.
constexpr int64_t kWrongTokenGraceNs = 2 * kSecond;

}  // namespace

Dialer::Dialer(const HandshakeIdentity& self, const TcpEndpoint& peer, Purpose purpose,
               std::vector<AddressPair> pairs, const SocketOptions& options, Deadline deadline)
    : self_(self),
      peer_(peer.rank),
      purpose_(purpose),
      port_(peer.port),
      pairs_(std::move(pairs)),
      options_(options),
      deadline_(deadline) {}

void Dialer::add_to(PollSet& poll) {
  if (handshake_) return handshake_->add_to(poll);
  if (connecting_.valid()) poll_index_ = poll.add(connecting_.get(), POLLOUT);
}

int64_t Dialer::wake_at_ns() const {
  int64_t at = next_try_ns_;
  if (handshake_) {
    at = handshake_->deadline().at_ns();
  } else if (connecting_.valid()) {
    at = try_deadline_.at_ns();
  }
  return std::min(at, deadline_.at_ns());
}

Dialer::State Dialer::step(const PollSet& poll) {
  if (handshake_) {
    step_handshake(poll);
  } else if (connecting_.valid()) {
    finish_try(poll);
  } else if (monotonic_ns() >= next_try_ns_) {
    start_try();
  }
  if (connected_.valid()) return State::kDone;
  return fatal_ || deadline_.passed() ? State::kFailed : State::kTrying;
}

void Dialer::start_try() {
  const AddressPair& pair = pairs_[at_];
  Expected<SocketAddress> local = make_socket_address(pair.local.ip, 0, pair.local.interface);
  if (!local) return answered(local.error());
  // The scope of a link-local address is the interface here, whatever it is called over there.
  Expected<SocketAddress> remote = make_socket_address(
      pair.remote.ip.substr(0, pair.remote.ip.find('%')), port_, pair.local.interface);
  if (!remote) return answered(remote.error());
  Expected<Fd> fd = start_connect(*remote, &*local, pair.local.interface, options_);
  if (!fd) return answered(fd.error());
  remote_ = *remote;
  connecting_ = std::move(*fd);
  poll_index_ = PollSet::kNotAdded;
  try_deadline_ = Deadline::after_ms(kConnectTryMs);
}

void Dialer::finish_try(const PollSet& poll) {
  // Not yet in a poll set: its result is not known.
  const bool known = poll_index_ != PollSet::kNotAdded && poll.fired(poll_index_);
  poll_index_ = PollSet::kNotAdded;
  if (!known) {
    if (try_deadline_.passed()) {
      answered(socket_error("connect to " + to_text(remote_), ETIMEDOUT));
    }
    return;
  }
  if (const Status status = finish_connect(connecting_.get(), remote_); !status) {
    return answered(status.error());
  }
  handshake_.emplace(std::move(connecting_), Handshake::dialer(self_, peer_, purpose_),
                     Deadline::after_ms(kHandshakeMs), to_text(remote_));
}

void Dialer::step_handshake(const PollSet& poll) {
  switch (handshake_->step(poll)) {
    case Handshake::State::kDone:
      connected_ = handshake_->take();
      handshake_.reset();
      break;
    case Handshake::State::kFailed: {
      Error error = handshake_->error();
      bool fatal = handshake_->fatal();
      if (fatal && error.code == ErrorCode::kAuth) {
        const int64_t now = monotonic_ns();
        if (first_refusal_ns_ == 0) first_refusal_ns_ = now;
        fatal = now - first_refusal_ns_ >= kWrongTokenGraceNs;
      }
      answered(std::move(error));
      fatal_ = fatal;
      break;
    }
    default:
      break;
  }
}

// A try failed: remember why, pause, then take the next pair.
void Dialer::answered(Error error) {
  last_ = std::move(error);
  connecting_.reset();
  handshake_.reset();
  at_ = (at_ + 1) % pairs_.size();
  pause_ns_ = pause_ns_ == 0 ? kFirstPauseNs : std::min(2 * pause_ns_, kLongestPauseNs);
  next_try_ns_ = monotonic_ns() + pause_ns_;
}

}  // namespace plumbline
