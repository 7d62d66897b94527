#include "probes/actions/connector.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "probes/icmp_error.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr size_t kBatch = 256;  // attempts at the same time, a descriptor each
constexpr int kSliceMs = 50;
constexpr size_t kStrangerBytes = 96;  // of a stranger's answer are kept

struct ErrnoRow {
  int err;
  const char* result;
};
constexpr ErrnoRow kRows[] = {
    {ECONNREFUSED, "refused"},
    {ETIMEDOUT, "timeout"},
    {ECONNRESET, "reset"},
    {EPIPE, "reset"},
    {ECONNABORTED, "reset"},
    {ENETUNREACH, "unreachable"},
    {EHOSTUNREACH, "unreachable"},
    {EHOSTDOWN, "unreachable"},
    {ENETDOWN, "unreachable"},
    {ENOPROTOOPT, "unreachable"},  // ICMP protocol unreachable
    {EOPNOTSUPP, "unreachable"},   // ICMP source route failed
    {EPROTO, "unreachable"},       // ICMPv6 parameter problem
    {EINVAL, "unreachable"},       // a blackhole route
    {EACCES, "denied"},
    {EPERM, "denied"},
};

class Attempt {
 public:
  Attempt(const PairEnds& ends, int port, int64_t timeout_ns, const std::string& nonce)
      : ends_(ends), nonce_(nonce), timeout_ns_(timeout_ns), started_ns_(monotonic_ns()) {
    out_.attempt.port = port;
    if (port < 1 || port > 65535) {
      out_.attempt.error = "no port number";
      finish("error");
      return;
    }
    StartedConnect started = start_probe_connect(ends, port);
    fd_ = std::move(started.fd);
    out_.source_port = started.source_port;
    if (started.err != 0 && started.before_connect) {
      out_.attempt.error = errno_name(started.err);
      finish("error");
    } else if (started.err != 0) {
      failed(started.err);
    }
  }

  bool done() const { return done_; }
  int fd() const { return fd_.get(); }
  short events() const { return static_cast<short>(connected_ ? POLLIN : POLLOUT); }
  const ConnectAttempt& result() const { return out_; }

  void step(bool ready) {
    if (ready) {
      if (!connected_) finish_connecting();
      if (connected_ && !done_) read_answer();
    }
    const int64_t now = monotonic_ns();
    if (done_ || now - started_ns_ < timeout_ns_) return;
    if (!connected_) {
      out_.attempt.error = "ETIMEDOUT";
      finish("timeout");
    } else if (now - connected_ns_ >= timeout_ns_) {
      answered("silent");
    }
  }

  // The time of the whole request is over.
  void give_up() {
    if (done_) return;
    if (connected_) return answered("silent");
    out_.attempt.error = "no time was left";
    finish("not_tried");
  }

 private:
  void finish(const std::string& result) {
    out_.attempt.result = result;
    if (!connected_) out_.attempt.took_ns = monotonic_ns() - started_ns_;
    done_ = true;
    fd_.reset();
  }

  void answered(const std::string& who) {
    out_.attempt.answer = who;
    if (who != "ours") out_.attempt.stranger_bytes = escaped(got_, kStrangerBytes);
    finish("connected");
  }

  void failed(int err) {
    take_icmp();
    out_.attempt.error = errno_name(err);
    finish(connect_result(err, out_.attempt.icmp.has_value()));
  }

  void take_icmp() {
    for (int i = 0; i < 8; ++i) {
      auto error = take_icmp_error(fd_.get());
      if (!error) return;
      if (!error->icmp_origin) continue;
      error->icmp.at_ns = monotonic_ns() - started_ns_;
      out_.attempt.icmp = error->icmp;
      return;
    }
  }

  void finish_connecting() {
    SocketAddress to = ends_.to;
    to.set_port(static_cast<uint16_t>(out_.attempt.port));
    if (const Status status = finish_connect(fd_.get(), to); !status) {
      return failed(status.error().sys_errno);
    }
    connected_ns_ = monotonic_ns();
    connected_ = true;
    out_.attempt.took_ns = connected_ns_ - started_ns_;
    // Few bytes into a fresh socket: they fit, or the connection is dead.
    const std::string line = probe_line({nonce_, "hello", 0});
    if (::send(fd_.get(), line.data(), line.size(), send_flags()) < 0) answered("closed");
  }

  void read_answer() {
    const std::string ours = ok_line(nonce_);
    char part[kMaxProbeLine];
    const auto size = receive_now(fd_.get(), part, sizeof part);
    if (size && !*size) return;
    if (!size || **size == 0) return answered(got_.empty() ? "closed" : "stranger");
    got_.append(part, **size);
    if (got_ == ours) return answered("ours");
    const bool beginning = std::string_view(ours).substr(0, got_.size()) == got_;
    if (!beginning) answered("stranger");
  }

  const PairEnds& ends_;
  const std::string& nonce_;
  int64_t timeout_ns_, started_ns_, connected_ns_ = 0;
  Fd fd_;
  bool connected_ = false, done_ = false;
  std::string got_;
  ConnectAttempt out_;
};

void run_batch(std::vector<std::unique_ptr<Attempt>>& attempts, const AgentCall& call) {
  while (!over(call)) {
    std::vector<pollfd> fds;
    std::vector<Attempt*> waiting;
    for (const auto& attempt : attempts) {
      if (attempt->done()) continue;
      waiting.push_back(attempt.get());
      fds.push_back({attempt->fd(), attempt->events(), 0});
    }
    if (waiting.empty()) return;
    const int ready = ::poll(fds.data(), static_cast<nfds_t>(fds.size()),
                             call.deadline.poll_timeout_ms(kSliceMs));
    if (ready < 0 && errno != EINTR) return;
    for (size_t i = 0; i < waiting.size(); ++i) {
      waiting[i]->step(ready > 0 && fds[i].revents != 0);
    }
  }
}

// ---- burst ----

constexpr int kBurstSliceMs = 20;

// Until every attempt has ended one way or the other, or the time is over.
void wait_for_all(const std::vector<Fd>& sockets, const AgentCall& call) {
  std::vector<pollfd> waiting;
  for (const Fd& socket : sockets) waiting.push_back({socket.get(), POLLOUT, 0});
  while (!waiting.empty() && !over(call)) {
    ::poll(waiting.data(), static_cast<nfds_t>(waiting.size()),
           call.deadline.poll_timeout_ms(kBurstSliceMs));
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                 [](const pollfd& item) { return item.revents != 0; }),
                  waiting.end());
  }
}

// ---- idle ----

int errno_of(const Error& error) {
  if (error.sys_errno != 0) return error.sys_errno;
  return error.code == ErrorCode::kPeerLost ? ECONNRESET : ETIMEDOUT;
}

}  // namespace

std::string connect_result(int err, bool icmp) {
  // Some ICMP codes become EACCES (RFC 4443 type 1 code 5 and 6): nothing here denied it then.
  if (icmp && (err == EACCES || err == EPERM)) return "unreachable";
  for (const ErrnoRow& row : kRows) {
    if (row.err == err) return row.result;
  }
  return icmp ? "unreachable" : "error";
}

std::vector<ConnectAttempt> connect_ports(const PairEnds& ends, const std::vector<int>& ports,
                                          int64_t timeout_ms, const std::string& nonce,
                                          const AgentCall& call) {
  const int64_t timeout_ns = std::clamp<int64_t>(timeout_ms, 1, 600'000) * kMillisecond;
  std::vector<ConnectAttempt> out;
  for (size_t begin = 0; begin < ports.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, ports.size());
    std::vector<std::unique_ptr<Attempt>> attempts;
    for (size_t i = begin; i < end && !over(call); ++i) {
      attempts.push_back(std::make_unique<Attempt>(ends, ports[i], timeout_ns, nonce));
    }
    run_batch(attempts, call);
    for (size_t i = begin; i < end; ++i) {
      if (i - begin < attempts.size()) {
        attempts[i - begin]->give_up();
        out.push_back(attempts[i - begin]->result());
      } else {
        out.emplace_back();
        out.back().attempt.port = ports[i];
        out.back().attempt.error = "no time was left";
      }
    }
  }
  return out;
}

Expected<BurstResult> connect_burst(const PairEnds& ends, int attempts, int64_t timeout_ms,
                                    const AgentCall& call) {
  const auto before = read_counters();
  if (!before) return fail(before.error());
  BurstResult out;
  std::vector<Fd> sockets;
  for (int i = 0; i < std::clamp(attempts, 1, kMaxBurst) && !over(call); ++i) {
    StartedConnect started = start_probe_connect(ends, ends.to.port());
    if (started.before_connect) continue;
    // Without a route nothing was produced; a refusal may come before connect returns.
    if (started.err == 0 || started.err == ECONNREFUSED) sockets.push_back(std::move(started.fd));
  }
  const int64_t ns = std::clamp<int64_t>(timeout_ms, 1, 60'000) * kMillisecond;
  wait_for_all(sockets, within(call, ns));
  for (Fd& socket : sockets) {
    out.attempts += static_cast<int>(syns_sent(socket.get()));
    close_hard(socket);
  }
  const auto after = read_counters();
  if (!after) return fail(after.error());
  out.counters = counters_difference(*before, *after);
  return out;
}

PortTry try_after_idle(const PairEnds& ends, const IdleSettings& settings, const AgentCall& call) {
  PortTry out;
  out.port = ends.to.port();
  const int64_t idle_ms = std::clamp<int64_t>(settings.idle_ms, 1, kMaxIdleMs);
  const int64_t patience_ns = std::max<int64_t>(1, settings.timeout_ms) * kMillisecond;
  auto fd = open_service(ends, "idle", idle_ms, within(call, patience_ns));
  if (!fd) {
    out.error = fd.error().message();
    return out;
  }
  std::string message(kEchoBytes, '\0');
  const auto used = [&] {
    return round_trip(fd->get(), message, patience_of(within(call, patience_ns)));
  };
  if (const auto before = used(); !before) {
    const std::string why = errno_name(errno_of(before.error()));
    out.error = "it did not work before the pause either: " + why;
    close_hard(*fd);
    return out;
  }
  // Whatever comes now is its end: nobody has anything to say.
  const bool ended = wait_for(fd->get(), POLLIN, within(call, idle_ms * kMillisecond));
  if (over(call)) {
    out.error = "no time was left";
    close_hard(*fd);
    return out;
  }
  const int64_t began_ns = monotonic_ns();
  const auto after = used();
  out.took_ns = monotonic_ns() - began_ns;
  if (after) {
    out.result = "connected";
    out.answer = "ours";
    return out;
  }
  const int err = errno_of(after.error());
  out.error = errno_name(err);
  out.result = connect_result(err, false);
  if (ended && out.result == "timeout") out.result = "closed";
  close_hard(*fd);
  return out;
}

}  // namespace plumbline
