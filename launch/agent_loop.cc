#include "launch/agent_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "launch/line_io.h"
#include "launch/process.h"
#include "transport/control/poll_set.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxOpen = 4096;  // requests without an answer; more are refused

// The handler ends first, then we answer for it, and then only the asker's patience is over: each a
// twentieth of the limit before the next, so that answers have time to travel.
int64_t margin_ns(int64_t within_ms) {
  constexpr int64_t kShare = 20, kMost = 100 * kMillisecond;
  return std::min(within_ms * kMillisecond / kShare, kMost);
}

// The requests that an agent is working on: each runs in a thread of its own, at most so many at a
// time, the others wait their turn. Every request gets exactly one answer line, from its handler
// or, when that overruns its time, from expire(). Threads are not waited for when the owner ends:
// they share this object, and what they still say is thrown away. Thread-safe.
class AgentJobs : public std::enable_shared_from_this<AgentJobs> {
 public:
  AgentJobs(std::vector<AgentRequest> requests, int max_running, WakePipe wake)
      : requests_(std::move(requests)), max_running_(max_running), wake_(std::move(wake)) {}

  // Readable when there is something to send or a deadline to look at again.
  const WakePipe& wake() const { return wake_; }

  void submit(const AgentRequestLine& line) {
    auto job = std::make_shared<Job>();
    job->line = line;
    job->row = find(line.request);
    if (job->row == nullptr) {
      return answer(line.id,
                    fail(ErrorCode::kUnsupported,
                         "this agent does not know the request '" + excerpt(line.request) + "'"));
    }
    const int64_t end = monotonic_ns() + line.within_ms * kMillisecond;
    job->handler = Deadline::at_ns(end - 2 * margin_ns(line.within_ms));
    job->answer = Deadline::at_ns(end - margin_ns(line.within_ms));
    std::unique_lock lock(mutex_);
    if (open_.size() >= kMaxOpen) {
      lock.unlock();
      return answer(line.id, fail(ErrorCode::kBusy, fmt::format("this agent has {} requests open "
                                                                "already",
                                                                kMaxOpen)));
    }
    open_.push_back(job);
    if (running_ >= max_running_) {
      waiting_.push_back(std::move(job));
      return;
    }
    ++running_;
    lock.unlock();
    start(std::move(job));
  }

  // An answer that needs no handler.
  void answer(int64_t id, const Expected<json>& reply) {
    const std::string text = format_reply_line(id, reply) + '\n';
    const std::lock_guard lock(mutex_);
    if (!ending_) output_ += text;
  }

  // Answers for those whose time is over; returns when to look again.
  Deadline expire() {
    Deadline next = Deadline::never();
    const std::lock_guard lock(mutex_);
    const auto over = [&](const JobPointer& job) {
      if (!job->answer.passed()) {
        if (job->answer.at_ns() < next.at_ns()) next = job->answer;
        return false;
      }
      output_ += format_reply_line(job->line.id,
                                   fail(ErrorCode::kTimeout,
                                        fmt::format("request '{}' was not done within its {} ms",
                                                    job->line.request, job->line.within_ms))) +
                 '\n';
      return true;
    };
    open_.erase(std::remove_if(open_.begin(), open_.end(), over), open_.end());
    return next;
  }

  // Lines to send, whole ones; empty when there is nothing.
  std::string take_output() {
    const std::lock_guard lock(mutex_);
    return std::exchange(output_, std::string());
  }

  size_t output_bytes() {
    const std::lock_guard lock(mutex_);
    return output_.size();
  }

  // Tells the handlers to return; true when all have, at the latest at the deadline. Nothing is
  // answered any more.
  bool end(Deadline deadline) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    waiting_.clear();
    return left_.wait_for(lock,
                          std::chrono::nanoseconds(std::max<int64_t>(deadline.remaining_ns(), 0)),
                          [&] { return running_ == 0; });
  }

 private:
  struct Job {
    AgentRequestLine line;
    const AgentRequest* row = nullptr;
    Deadline handler = Deadline::never(), answer = Deadline::never();
  };
  using JobPointer = std::shared_ptr<Job>;

  const AgentRequest* find(const std::string& name) const {
    const auto it = std::find_if(requests_.begin(), requests_.end(),
                                 [&](const AgentRequest& row) { return row.name == name; });
    return it == requests_.end() ? nullptr : &*it;
  }

  void start(JobPointer job) {
    try {
      std::thread([self = shared_from_this(), job] { self->work(job); }).detach();
    } catch (const std::system_error& problem) {
      finish(job, fail(ErrorCode::kBusy, std::string("this agent cannot start another thread: ") +
                                             exception_words(problem)));
      const std::lock_guard lock(mutex_);
      --running_;
    }
  }

  void work(JobPointer job) {
    while (job != nullptr) {
      finish(job, run(*job));
      job = next_or_leave();
    }
  }

  Expected<json> run(const Job& job) const {
    try {
      return job.row->run(json::parse(job.line.params), AgentCall{job.handler, &ending_});
    } catch (const json::exception& problem) {
      return fail(ErrorCode::kProtocol,
                  "request '" + job.line.request + "': wrong parameters: " + json_trouble(problem));
    } catch (const std::exception& problem) {
      return fail(ErrorCode::kSystem,
                  "request '" + job.line.request + "': " + exception_words(problem));
    }
  }

  // Sends it unless the job has been answered already.
  void finish(const JobPointer& job, const Expected<json>& reply) {
    std::string text = format_reply_line(job->line.id, reply);
    if (text.size() > kMaxReplyBytes) {
      text = format_reply_line(
          job->line.id, fail(ErrorCode::kSystem, fmt::format("the answer to '{}' is too long: {} "
                                                             "bytes",
                                                             job->line.request, text.size())));
    }
    {
      const std::lock_guard lock(mutex_);
      const auto it = std::find(open_.begin(), open_.end(), job);
      if (it == open_.end() || ending_) return;
      open_.erase(it);
      output_ += text + '\n';
    }
    wake_.signal();
  }

  JobPointer next_or_leave() {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty() && !ending_) {
      JobPointer job = std::move(waiting_.front());
      waiting_.pop_front();
      const bool unanswered = std::find(open_.begin(), open_.end(), job) != open_.end();
      if (unanswered) return job;
    }
    --running_;
    left_.notify_all();
    return nullptr;
  }

  const std::vector<AgentRequest> requests_;
  const int max_running_;
  const WakePipe wake_;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable left_;
  std::vector<JobPointer> open_;  // not answered yet
  std::deque<JobPointer> waiting_;
  int running_ = 0;
  std::string output_;
};

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
    } else if (request->request == kHelloRequest) {
      jobs_->answer(id, to_reply(hello()));
    } else if (request->request == kTimeRequest) {
      jobs_->answer(id, to_reply_of_time(wall_clock_ns()));
    } else {
      jobs_->submit(*request);
    }
  }

  HelloReply hello() const {
    return {settings_.version, settings_.build,  getpid(),
            getuid(),          settings_.config, wall_clock_ns()};
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
