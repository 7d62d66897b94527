#include "probes/actions/service.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/idle.h"
#include "probes/actions/tcp_progress.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int64_t kMaxService = 180 * kSecond;
constexpr int64_t kMaxSilence = 30 * kSecond;  // of the peer, while bytes are expected
constexpr int64_t kMaxSourceMs = 60'000;
constexpr size_t kBlock = 256 << 10;

bool would_wait(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

// One connection in one of the streaming modes: reads and counts until the peer ends, and sends
// zeros meanwhile for as long as it was asked to.
class Pump {
 public:
  Pump(int fd, int64_t send_for_ns, int64_t early, const AgentCall& call)
      : fd_(fd), call_(call), started_ns_(monotonic_ns()), cpu_started_ns_(thread_cpu_ns()) {
    if (send_for_ns > 0) send_until_ns_ = started_ns_ + send_for_ns;
    if (early > 0) count(early);
  }

  // False when the connection broke or the time was over.
  bool run() {
    last_read_ns_ = started_ns_;
    while (!over(call_)) {
      const int64_t now = monotonic_ns();
      const bool sending = now < send_until_ns_;
      if (ended_ && !sending) return true;
      if (!sending && now - std::max(last_read_ns_, send_until_ns_) > kMaxSilence) return false;
      // Short, because the end of sending is noticed here.
      const AgentCall slice = within(call_, 20 * kMillisecond);
      const int events = (ended_ ? 0 : POLLIN) | (sending ? POLLOUT : 0);
      wait_for(fd_, static_cast<short>(events), slice);
      if ((!ended_ && !read_some()) || (sending && !send_some())) return false;
    }
    return false;
  }

  SinkReport report() const {
    return {bytes_, last_ns_ - first_ns_, thread_cpu_ns() - cpu_started_ns_,
            tcp_progress(fd_, 0).segments_in};
  }

 private:
  void count(int64_t bytes) {
    last_ns_ = monotonic_ns();
    if (bytes_ == 0) first_ns_ = last_ns_;
    bytes_ += bytes;
    last_read_ns_ = last_ns_;
  }

  bool read_some() {
    const ssize_t got = ::recv(fd_, block_.data(), block_.size(), 0);
    if (got > 0) {
      count(got);
    } else if (got == 0) {
      ended_ = true;
    } else if (!would_wait(errno)) {
      return false;
    }
    return true;
  }

  bool send_some() {
    const ssize_t sent = ::send(fd_, zeros_.data(), zeros_.size(), send_flags());
    return sent >= 0 || would_wait(errno);
  }

  int fd_;
  const AgentCall& call_;
  int64_t started_ns_, cpu_started_ns_, send_until_ns_ = 0, last_read_ns_ = 0;
  int64_t bytes_ = 0, first_ns_ = 0, last_ns_ = 0;
  bool ended_ = false;
  std::vector<char> block_ = std::vector<char>(kBlock);
  std::vector<char> zeros_ = std::vector<char>(kBlock / 2);
};

bool send_all(int fd, std::string_view bytes, const AgentCall& call) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), send_flags());
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!would_wait(errno) || !wait_for(fd, POLLOUT, call)) {
      return false;
    }
  }
  return true;
}

bool serve_stream(int fd, const ProbeLine& line, size_t early, const AgentCall& call) {
  const bool sends = line.mode == "source" || line.mode == "both";
  const int64_t send_ns =
      sends ? std::min(std::max<int64_t>(1, line.argument), kMaxSourceMs) * kMillisecond : 0;
  Pump pump(fd, send_ns, static_cast<int64_t>(early), call);
  if (!pump.run()) return false;
  return send_all(fd, sink_line(pump.report()), call);
}

bool serve_echo(int fd, std::string message, int64_t silence_ns, const AgentCall& call) {
  int64_t until_ns = monotonic_ns() + silence_ns;
  while (!over(call) && monotonic_ns() < until_ns) {
    if (message.size() >= kEchoBytes) {
      if (!send_all(fd, std::string_view(message).substr(0, kEchoBytes), call)) return false;
      message.erase(0, kEchoBytes);
      until_ns = monotonic_ns() + silence_ns;
      continue;
    }
    char part[kEchoBytes];
    const ssize_t got = ::recv(fd, part, kEchoBytes - message.size(), 0);
    if (got == 0) return true;
    if (got < 0 && !would_wait(errno)) return false;
    if (got < 0) {
      wait_for(fd, POLLIN, within(call, kSecond));
    } else {
      message.append(part, static_cast<size_t>(got));
    }
  }
  return false;
}

}  // namespace

bool known_service(const std::string& mode) {
  for (const char* known : {"sink", "source", "both", "echo", "idle", "paced"}) {
    if (mode == known) return true;
  }
  return false;
}

void serve_connection(Fd connection, const ProbeLine& line, std::string early,
                      const std::atomic<bool>& ending) {
  // A connection that is to lie idle for so many ms is held a while longer than that.
  const bool idle = line.mode == "idle";
  const int64_t silence_ns =
      kMaxSilence + (idle ? std::min(line.argument, kMaxIdleMs) * kMillisecond : 0);
  const AgentCall call{Deadline::after_ns(idle ? 2 * silence_ns : kMaxService), &ending};
  const int fd = connection.get();
  bool well = send_all(fd, ok_line(line.nonce), call);
  if (well && (idle || line.mode == "echo")) {
    well = serve_echo(fd, std::move(early), silence_ns, call);
  } else if (well) {
    well = serve_stream(fd, line, early.size(), call);
  }
  // The peer ended first, so TIME-WAIT is at its end, and an answer that got lost is sent again.
  if (!well) close_hard(connection);
}

}  // namespace plumbline
