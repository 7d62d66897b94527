#include "transport/control/connectors.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <limits>

#include "transport/transports.h"

namespace plumbline {
namespace {

constexpr int64_t kFirstPauseNs = 20 * kMillisecond, kLongestPauseNs = 200 * kMillisecond;
constexpr int64_t kConnectTryMs = 3000;  // one lost SYN is sent again after 1 s (RFC 6298)
// A process of the run before may hold the peer's port for a moment while it ends.
constexpr int64_t kWrongTokenGraceNs = 2 * kSecond;

constexpr size_t kMaxPending = 64;
constexpr int64_t kPauseNs = 100 * kMillisecond;
constexpr int kLinesPerPeriod = 5;
constexpr int64_t kLogPeriodNs = 10 * kSecond;

// "10.0.0.9:4711" -> "10.0.0.9", "[fd00::9]:4711" -> "fd00::9".
std::string without_port(const std::string& where) {
  const std::string address = where.substr(0, where.rfind(':'));
  const bool brackets = address.size() > 2 && address.front() == '[';
  return brackets ? address.substr(1, address.size() - 2) : address;
}

}  // namespace

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

Dialer::Dialer(const HandshakeIdentity& self, const TcpEndpoint& peer, Purpose purpose,
               size_t stream, std::vector<AddressPair> pairs, const SocketOptions& options,
               Deadline deadline)
    : self_(self),
      peer_(peer.rank),
      purpose_(purpose),
      stream_(stream),
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
  handshake_.emplace(std::move(connecting_), Handshake::dialer(self_, peer_, purpose_, stream_),
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

void LogLimit::line(const std::string& text) {
  if (log_ == nullptr || !log_->enabled(level_)) return;
  const int64_t now = monotonic_ns();
  if (period_start_ns_ == 0 || now - period_start_ns_ >= kLogPeriodNs) {
    if (held_back_ > 0) log_->log(level_, fmt::format("{} more lines of this kind", held_back_));
    period_start_ns_ = now;
    lines_ = 0;
    held_back_ = 0;
  }
  if (++lines_ > kLinesPerPeriod) {
    ++held_back_;
    return;
  }
  log_->log(level_, text);
}

Acceptor::Acceptor(const HandshakeIdentity& self, const TcpListener& listener, Owner owner,
                   size_t expected, RefusedTally* refused, const Logger* log)
    : self_(self),
      listener_(listener),
      owner_(std::move(owner)),
      max_pending_(std::max(kMaxPending, expected)),
      refused_(refused),
      trouble_(log, LogLevel::kWarn),
      log_(log, LogLevel::kInfo) {}

void Acceptor::add_to(PollSet& poll) {
  poll_indexes_.clear();
  if (monotonic_ns() >= paused_until_ns_) {
    for (const Fd& fd : listener_.sockets()) poll_indexes_.push_back(poll.add(fd.get(), POLLIN));
  }
  for (const auto& pending : pending_) pending->add_to(poll);
}

int64_t Acceptor::wake_at_ns() const {
  int64_t at = std::numeric_limits<int64_t>::max();
  if (poll_indexes_.empty()) at = paused_until_ns_;
  // Same time for all: the oldest runs out first.
  if (!pending_.empty()) at = std::min(at, pending_.front()->deadline().at_ns());
  return at;
}

void Acceptor::step(const PollSet& poll) {
  accept_all(poll);
  std::erase_if(pending_, [&](const auto& pending) { return advance(*pending, poll); });
}

void Acceptor::accept_all(const PollSet& poll) {
  for (size_t i = 0; i < poll_indexes_.size(); ++i) {
    if (!poll.fired(poll_indexes_[i])) continue;
    for (size_t taken = 0; taken < max_pending_; ++taken) {
      Expected<Fd> fd = accept_from(listener_.sockets()[i].get());
      if (!fd) {
        trouble_.line(fd.error().message());
        paused_until_ns_ = monotonic_ns() + kPauseNs;
        return;
      }
      if (!fd->valid()) break;
      if (pending_.size() >= max_pending_) {
        refuse(
            *pending_.front(),
            {ErrorCode::kBusy, "too many connections wait for a handshake", 0, "a port scan?", {}});
        pending_.pop_front();
      }
      std::string where = to_text(remote_address(fd->get()));
      tune_connection(fd->get(), 0);
      pending_.push_back(
          std::make_unique<HandshakeSocket>(std::move(*fd), Handshake::acceptor(self_),
                                            Deadline::after_ms(kHandshakeMs), std::move(where)));
    }
  }
}

// true = this one is finished, either way.
bool Acceptor::advance(HandshakeSocket& pending, const PollSet& poll) {
  Handshake::State state = pending.step(poll);
  Handshake& handshake = pending.handshake();
  if (state == Handshake::State::kAuthenticated) {
    handshake.conclude(
        owner_.admits(handshake.peer_rank(), handshake.purpose(), handshake.stream()));
    state = pending.step(poll);
  }
  switch (state) {
    case Handshake::State::kDone:
      owner_.connected(handshake.peer_rank(), handshake.purpose(), handshake.stream(),
                       pending.take());
      return true;
    case Handshake::State::kFailed:
      refuse(pending, pending.error());
      return true;
    default:
      return false;
  }
}

void Acceptor::refuse(HandshakeSocket& pending, const Error& error) {
  log_.line("refused a connection from " + pending.where() + ": " + error.message());
  // A rank of ours that has such a connection already, or disagrees, is no stranger.
  if (refused_ != nullptr && !pending.handshake().authentic()) {
    refused_->add(without_port(pending.where()));
  }
  owner_.refused(pending.handshake().peer_rank(), error, pending.fatal());
}

}  // namespace plumbline
