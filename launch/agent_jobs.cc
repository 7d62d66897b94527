#include "launch/agent_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "core/json.h"
#include "core/json_trouble.h"

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

}  // namespace

const AgentRequest* AgentJobs::find(const std::string& name) const {
  const auto it = std::find_if(requests_.begin(), requests_.end(),
                               [&](const AgentRequest& row) { return row.name == name; });
  return it == requests_.end() ? nullptr : &*it;
}

void AgentJobs::submit(const AgentRequestLine& line) {
  auto job = std::make_shared<Job>();
  job->line = line;
  job->row = find(line.request);
  if (job->row == nullptr) {
    return answer(line.id, fail(ErrorCode::kUnsupported, "this agent does not know the request '" +
                                                             excerpt(line.request) + "'"));
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

void AgentJobs::start(JobPointer job) {
  try {
    std::thread([self = shared_from_this(), job] { self->work(job); }).detach();
  } catch (const std::system_error& problem) {
    finish(job, fail(ErrorCode::kBusy, std::string("this agent cannot start another thread: ") +
                                           exception_words(problem)));
    const std::lock_guard lock(mutex_);
    --running_;
  }
}

void AgentJobs::work(JobPointer job) {
  while (job != nullptr) {
    finish(job, run(*job));
    job = next_or_leave();
  }
}

AgentJobs::JobPointer AgentJobs::next_or_leave() {
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

Expected<json> AgentJobs::run(const Job& job) const {
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

void AgentJobs::finish(const JobPointer& job, const Expected<json>& reply) {
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

void AgentJobs::answer(int64_t id, const Expected<json>& reply) {
  const std::string text = format_reply_line(id, reply) + '\n';
  const std::lock_guard lock(mutex_);
  if (!ending_) output_ += text;
}

Deadline AgentJobs::expire() {
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

std::string AgentJobs::take_output() {
  const std::lock_guard lock(mutex_);
  return std::exchange(output_, std::string());
}

size_t AgentJobs::output_bytes() {
  const std::lock_guard lock(mutex_);
  return output_.size();
}

bool AgentJobs::end(Deadline deadline) {
  std::unique_lock lock(mutex_);
  ending_ = true;
  waiting_.clear();
  return left_.wait_for(lock,
                        std::chrono::nanoseconds(std::max<int64_t>(deadline.remaining_ns(), 0)),
                        [&] { return running_ == 0; });
}

}  // namespace plumbline
