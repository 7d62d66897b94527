#include "transport/control/acceptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

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
                   RefusedTally* refused, const Logger* log)
    : self_(self),
      listener_(listener),
      owner_(std::move(owner)),
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
    for (size_t taken = 0; taken < kMaxPending; ++taken) {
      Expected<Fd> fd = accept_from(listener_.sockets()[i].get());
      if (!fd) {
        trouble_.line(fd.error().message());
        paused_until_ns_ = monotonic_ns() + kPauseNs;
        return;
      }
      if (!fd->valid()) break;
      if (pending_.size() >= kMaxPending) {
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
    handshake.conclude(owner_.has_already(handshake.peer_rank(), handshake.purpose()));
    state = pending.step(poll);
  }
  switch (state) {
    case Handshake::State::kDone:
      owner_.connected(handshake.peer_rank(), handshake.purpose(), pending.take());
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
