#include "probes/dial.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "core/sha256.h"
#include "probes/icmp_error.h"
#include "transport/port_owner.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

constexpr size_t kBatch = 64;       // ports tried at once; each takes three descriptors
constexpr size_t kMostServers = 8;  // accepted connections kept per port; strangers may be there
constexpr int kPollSliceMs = 100;

using Nonce = std::array<std::byte, 16>;

// One port being tried: listener, client, and whoever was accepted, until the outcome is known.
class Dial {
 public:
  Dial(const TcpEnd& from, const TcpEnd& to, int port) : started_ns_(monotonic_ns()) {
    attempt_.port = port;
    const Digest random = random_token();
    std::copy_n(random.begin(), nonce_.size(), nonce_.begin());
    if (open_listener(to)) start(from);
  }

  bool done() const { return done_; }
  const PortAttempt& attempt() const { return attempt_; }

  void add_to(std::vector<pollfd>& fds) const {
    fds.push_back({listener_.get(), POLLIN, 0});
    // Once it has sent, the client only waits for an end that should not come.
    fds.push_back({client_.get(), static_cast<short>(sent_ ? POLLIN : POLLOUT), 0});
    for (const Fd& server : servers_) fds.push_back({server.get(), POLLIN, 0});
  }

  // Moves on as far as it goes without waiting.
  void step(bool client_ready) {
    if (client_ready && !sent_) connected();
    if (done_) return;
    accept_waiting();
    read_servers();
    if (!done_ && client_ready && sent_) look_for_end();
  }

  // `early`: before the time that a connection is given was over.
  void give_up(bool early) {
    if (done_) return;
    const auto silent = sent_ ? AttemptOutcome::kWrongService : AttemptOutcome::kTimeout;
    finish(early ? AttemptOutcome::kNoTime : silent);
  }

 private:
  void finish(AttemptOutcome outcome) {
    attempt_.outcome = outcome;
    attempt_.time_ns = monotonic_ns() - started_ns_;
    done_ = true;
  }

  bool open_listener(const TcpEnd& to) {
    const auto address =
        make_socket_address(to.ip, static_cast<uint16_t>(attempt_.port), to.interface);
    auto listener = address ? listen_on(*address, {}) : Expected<Fd>(fail(address.error()));
    if (listener) {
      remote_ = *address;
      listener_ = std::move(*listener);
      return true;
    }
    attempt_.error = listener.error();
    const bool held = attempt_.error.code == ErrorCode::kBusy;
    finish(held ? AttemptOutcome::kHeld : AttemptOutcome::kNoListener);
    return false;
  }

  void start(const TcpEnd& from) {
    auto source = make_socket_address(from.ip, 0, from.interface);
    if (!source) return failed(source.error());
    client_ = new_tcp_socket(remote_.family());
    const int fd = client_.get();
    if (!client_.valid()) return failed(socket_error("open a socket", errno));
    watch_icmp_errors(fd, remote_.family());
    bind_address_only(fd);
    if (::bind(fd, source->get(), source->length) != 0) {
      return failed(socket_error("bind the source address " + from.ip, errno));
    }
    // Best effort: the address alone decides where the kernel may not bind to an interface.
    if (source->link_local()) bind_to_interface(fd, source->family(), from.interface);
    if (::connect(fd, remote_.get(), remote_.length) != 0 && errno != EINPROGRESS) {
      failed(socket_error("connect to " + to_text(remote_), errno));
    }
  }

  void failed(const Error& error) {
    attempt_.error = error;
    if (ended_by_icmp(client_.get())) {
      attempt_.error.cause.clear();  // not our own routing table then
      attempt_.error.what += ", by an ICMP message";
      return finish(AttemptOutcome::kUnreachable);
    }
    switch (error.code) {
      case ErrorCode::kRefused:
        return finish(AttemptOutcome::kRefused);
      case ErrorCode::kTimeout:
        return finish(AttemptOutcome::kTimeout);
      case ErrorCode::kPeerLost:
        return finish(AttemptOutcome::kReset);
      case ErrorCode::kUnreachable:
        return finish(AttemptOutcome::kUnreachable);
      default:
        return finish(AttemptOutcome::kNoListener);  // ours to solve, not the network's fault
    }
  }

  void connected() {
    if (const Status status = finish_connect(client_.get(), remote_); !status) {
      return failed(status.error());
    }
    // 16 bytes into a fresh socket: they fit, or the connection is dead.
    const ssize_t size = ::send(client_.get(), nonce_.data(), nonce_.size(), send_flags());
    if (size != static_cast<ssize_t>(nonce_.size())) return finish(AttemptOutcome::kReset);
    sent_ = true;
  }

  void accept_waiting() {
    while (servers_.size() < kMostServers) {
      auto server = accept_from(listener_.get());
      if (!server || !server->valid()) return;
      servers_.push_back(std::move(*server));
    }
  }

  // Strangers are dropped, ours ends the attempt.
  void read_servers() {
    for (auto it = servers_.begin(); it != servers_.end();) {
      Nonce got{};
      const ssize_t size = ::recv(it->get(), got.data(), got.size(), MSG_PEEK);
      const bool waiting = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
      const bool partial = size > 0 && static_cast<size_t>(size) < got.size();
      if (waiting || partial) {
        ++it;
      } else if (size > 0 && got == nonce_) {
        return finish(AttemptOutcome::kOpen);
      } else {
        it = servers_.erase(it);
      }
    }
  }

  // Nobody of ours answers or closes, so anything that comes back is from somebody else.
  void look_for_end() {
    char byte = 0;
    const ssize_t size = ::recv(client_.get(), &byte, 1, 0);
    if (size > 0) return finish(AttemptOutcome::kWrongService);
    const bool waiting = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (!waiting) finish(AttemptOutcome::kReset);
  }

  PortAttempt attempt_;
  int64_t started_ns_;
  Nonce nonce_{};
  SocketAddress remote_;
  Fd listener_, client_;
  std::vector<Fd> servers_;
  bool sent_ = false, done_ = false;
};

// Until all are done, or the deadline.
void run_batch(std::vector<std::unique_ptr<Dial>>& dials, Deadline deadline) {
  while (true) {
    std::vector<pollfd> fds;
    std::vector<std::pair<Dial*, size_t>> clients;  // with the place of its client in fds
    for (const auto& dial : dials) {
      if (dial->done()) continue;
      clients.emplace_back(dial.get(), fds.size() + 1);
      dial->add_to(fds);
    }
    if (clients.empty() || deadline.passed()) return;
    const int wait_ms = deadline.poll_timeout_ms(kPollSliceMs);
    const int ready = ::poll(fds.data(), static_cast<nfds_t>(fds.size()), wait_ms);
    if (ready < 0 && errno != EINTR) return;
    for (const auto& [dial, place] : clients) dial->step(fds[place].revents != 0);
  }
}

Deadline earlier(Deadline a, Deadline b) { return a.at_ns() < b.at_ns() ? a : b; }

}  // namespace

std::vector<PortAttempt> try_connect(const TcpEnd& from, const TcpEnd& to,
                                     const std::vector<int>& ports, int64_t timeout_ms,
                                     Deadline deadline) {
  std::vector<PortAttempt> attempts;
  for (size_t begin = 0; begin < ports.size(); begin += kBatch) {
    const Deadline patience = Deadline::after_ms(timeout_ms);
    std::vector<std::unique_ptr<Dial>> dials;
    for (size_t i = begin; i < std::min(begin + kBatch, ports.size()); ++i) {
      dials.push_back(std::make_unique<Dial>(from, to, ports[i]));
    }
    run_batch(dials, earlier(patience, deadline));
    for (const auto& dial : dials) {
      dial->give_up(!patience.passed());
      attempts.push_back(dial->attempt());
    }
  }
  for (PortAttempt& attempt : attempts) {
    if (attempt.outcome == AttemptOutcome::kHeld) {
      attempt.owner = port_owner(static_cast<uint16_t>(attempt.port));
    }
  }
  return attempts;
}

}  // namespace plumbline
