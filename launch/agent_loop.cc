#include "launch/agent_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>

#include "core/json.h"
#include "launch/agent_jobs.h"
#include "launch/lease.h"
#include "launch/line_io.h"

namespace plumbline {
namespace {

using nlohmann::json;

// Answers that nobody fetches: beyond this no further request is read.
constexpr size_t kMaxBacklog = 64u << 20;
constexpr int64_t kFlushMs = 200;    // for the last answers, when the input has ended
constexpr int64_t kGraceMs = 1'000;  // for handlers that still run then
constexpr int kLoopSleepMs = 1'000;

// One thread moves all bytes, so that neither a slow reader nor a handler can keep the end of the
// input from being seen.
class Loop {
 public:
  Loop(int in, int out, const AgentLoopSettings& settings, std::shared_ptr<AgentJobs> jobs)
      : in_(in),
        out_(out),
        settings_(settings),
        jobs_(std::move(jobs)),
        lines_(settings.max_line_bytes),
        lease_(settings.lease_ms) {}

  Status run() {
    while (!ended_) {
      const Deadline next = jobs_->expire();
      if (Status turned = turn(next); !turned) return turned;
      if (lease_.over()) break;
    }
    const Deadline flush = Deadline::after_ms(kFlushMs);
    while (!reader_gone_ && pending() > 0 && !flush.passed()) {
      if (Status turned = turn(flush); !turned) return turned;
    }
    return {};
  }

 private:
  size_t pending() { return sending_.size() - sent_ + jobs_->output_bytes(); }

  Status turn(Deadline next) {
    const size_t backlog = pending();
    const bool listens = !ended_ && backlog < kMaxBacklog;
    std::array<pollfd, 3> fds{{{ended_ ? -1 : in_, static_cast<short>(listens ? POLLIN : 0), 0},
                               {out_, static_cast<short>(backlog > 0 ? POLLOUT : 0), 0},
                               {jobs_->wake().read_fd(), POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), next.poll_timeout_ms(kLoopSleepMs)) < 0) {
      if (errno == EINTR) return {};
      return fail_errno(ErrorCode::kSystem, "wait for requests", errno);
    }
    if (fds[2].revents != 0) jobs_->wake().drain();
    if ((fds[0].revents & POLLIN) != 0) {
      read_requests();
    } else if (fds[0].revents != 0) {
      ended_ = true;
    }
    if ((fds[1].revents & (POLLERR | POLLNVAL)) != 0) {
      ended_ = reader_gone_ = true;
    } else {
      send_answers();
    }
    return {};
  }

  void read_requests() {
    std::array<char, 65536> chunk;
    const ssize_t n = ::read(in_, chunk.data(), chunk.size());
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
    if (n <= 0) return;
    lease_.heard();
    lines_.feed({chunk.data(), static_cast<size_t>(n)});
    while (const std::optional<std::string> line = lines_.next()) take(*line);
  }

  // Lines without an id cannot be answered and are ignored, as are those that are too long.
  void take(const std::string& line) {
    int64_t id = 0;
    const Expected<AgentRequestLine> request = parse_request_line(line, &id);
    if (!request) {
      if (id > 0) jobs_->answer(id, fail(request.error()));
    } else if (request->request == "hello") {
      jobs_->answer(id, hello());
    } else if (request->request == "time") {
      jobs_->answer(id, json{{"time_ns", wall_clock_ns()}});
    } else {
      jobs_->submit(*request);
    }
  }

  json hello() const {
    return {{"version", settings_.version},
            {"build", settings_.build},
            {"pid", getpid()},
            {"uid", getuid()},
            {"config", settings_.config},
            {"time_ns", wall_clock_ns()}};
  }

  void send_answers() {
    if (sent_ == sending_.size()) {
      sending_ = jobs_->take_output();
      sent_ = 0;
    }
    if (sending_.empty()) return;
    const ssize_t n = ::write(out_, sending_.data() + sent_, sending_.size() - sent_);
    if (n > 0) sent_ += static_cast<size_t>(n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) ended_ = reader_gone_ = true;
  }

  int in_, out_;
  const AgentLoopSettings& settings_;
  std::shared_ptr<AgentJobs> jobs_;
  LineBuffer lines_;
  Lease lease_;
  std::string sending_;
  size_t sent_ = 0;
  bool ended_ = false, reader_gone_ = false;
};

}  // namespace

Status serve_agent(int in, int out, const std::vector<AgentRequest>& requests,
                   const AgentLoopSettings& settings) {
  const NoSigpipe no_sigpipe;
  const NonBlocking input(in), output(out);
  Expected<WakePipe> wake = WakePipe::open();
  if (!wake) return fail(wake.error());
  const auto jobs =
      std::make_shared<AgentJobs>(requests, std::max(1, settings.max_running), std::move(*wake));
  Status served = Loop(in, out, settings, jobs).run();
  jobs->end(Deadline::after_ms(kGraceMs));
  return served;
}

}  // namespace plumbline
