#include "probes/actions/service.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/idle.h"
#include "probes/actions/tcp_progress.h"
#include "transport/traffic/round_trip.h"
#include "transport/traffic/stream.h"

namespace plumbline {
namespace {

constexpr int64_t kMaxService = 180 * kSecond;
constexpr int64_t kMaxSilence = 30 * kSecond;  // of the peer, while bytes are expected
constexpr int64_t kMaxSourceMs = 60'000;
constexpr size_t kBlock = 256 << 10;

// One connection in one of the streaming modes: reads and counts until the peer ends, and sends
// zeros meanwhile for as long as it was asked to.
class Pump {
 public:
  Pump(int fd, Deadline send_until, size_t early, const AgentCall& call)
      : fd_(fd), call_(call), cpu_started_ns_(thread_cpu_ns()), last_read_(monotonic_ns()) {
    load_.until = send_until;
    load_.block = kBlock / 2;
    if (early > 0) count(early);
  }

  // False when the connection broke or the time was over.
  bool run() {
    StreamSource source(fd_, load_);
    while (!over(call_)) {
      const bool sending = !source.done();
      if (ended_ && !sending) return true;
      const int64_t silent_ns = monotonic_ns() - std::max(last_read_, load_.until.at_ns());
      if (!sending && silent_ns > kMaxSilence) return false;
      const Expected<bool> sent = sending ? source.step() : Expected<bool>(false);
      const Expected<bool> read = ended_ ? Expected<bool>(false) : read_some();
      if (!sent || !read) return false;
      if (*sent || *read) continue;
      // Short, because the end of sending is noticed here.
      const int events = (ended_ ? 0 : POLLIN) | (sending ? POLLOUT : 0);
      wait_for(fd_, static_cast<short>(events), within(call_, 20 * kMillisecond));
    }
    return false;
  }

  SinkReport report() const {
    return {bytes_, last_ns_ - first_ns_, thread_cpu_ns() - cpu_started_ns_,
            tcp_progress(fd_, 0).segments_in};
  }

 private:
  void count(size_t bytes) {
    last_ns_ = last_read_ = monotonic_ns();
    if (bytes_ == 0) first_ns_ = last_ns_;
    bytes_ += static_cast<int64_t>(bytes);
  }

  Expected<bool> read_some() {
    const auto got = receive_now(fd_, block_.data(), block_.size());
    if (!got) return fail(got.error());
    if (!*got) return false;
    ended_ = **got == 0;
    if (!ended_) count(**got);
    return true;
  }

  int fd_;
  const AgentCall& call_;
  StreamLoad load_;
  int64_t cpu_started_ns_, last_read_;
  int64_t bytes_ = 0, first_ns_ = 0, last_ns_ = 0;
  bool ended_ = false;
  std::vector<char> block_ = std::vector<char>(kBlock);
};

bool say(int fd, const std::string& line, const AgentCall& call) {
  return send_all(fd, line.data(), line.size(), patience_of(call)).has_value();
}

bool serve_stream(int fd, const ProbeLine& line, size_t early, const AgentCall& call) {
  const bool sends = line.mode == "source" || line.mode == "both";
  const int64_t send_ms = sends ? std::clamp<int64_t>(line.argument, 1, kMaxSourceMs) : 0;
  Pump pump(fd, Deadline::after_ms(send_ms), early, call);
  return pump.run() && say(fd, sink_line(pump.report()), call);
}

// The peer's end is its good end.
bool serve_echo(int fd, std::string early, int64_t silence_ns, const AgentCall& call) {
  const EchoSettings settings{kEchoBytes, silence_ns, false, std::move(early)};
  const Status ended = echo_messages(fd, settings, patience_of(call));
  return !ended && ended.error().code == ErrorCode::kPeerLost && ended.error().sys_errno == 0;
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
  bool well = say(fd, ok_line(line.nonce), call);
  if (well && (idle || line.mode == "echo")) {
    well = serve_echo(fd, std::move(early), silence_ns, call);
  } else if (well) {
    well = serve_stream(fd, line, early.size(), call);
  }
  // The peer ended first, so TIME-WAIT is at its end, and an answer that got lost is sent again.
  if (!well) close_hard(connection);
}

}  // namespace plumbline
