// The requests that an agent is working on: each runs in a thread of its own, at most so many at a
// time, the others wait their turn. Every request gets exactly one answer line, from its handler
// or, when that overruns its time, from expire(). Threads are not waited for when the owner ends:
// they share this object, and what they still say is thrown away. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "launch/agent_lines.h"
#include "transport/control/poll_set.h"

namespace plumbline {

class AgentJobs : public std::enable_shared_from_this<AgentJobs> {
 public:
  AgentJobs(std::vector<AgentRequest> requests, int max_running, WakePipe wake)
      : requests_(std::move(requests)), max_running_(max_running), wake_(std::move(wake)) {}

  // Readable when there is something to send or a deadline to look at again.
  const WakePipe& wake() const { return wake_; }
  void submit(const AgentRequestLine& line);
  // An answer that needs no handler.
  void answer(int64_t id, const Expected<nlohmann::json>& reply);
  // Answers for those whose time is over; returns when to look again.
  Deadline expire();
  // Lines to send, whole ones; empty when there is nothing.
  std::string take_output();
  size_t output_bytes();
  // Tells the handlers to return; true when all have, at the latest at the deadline. Nothing is
  // answered any more.
  bool end(Deadline deadline);

 private:
  struct Job {
    AgentRequestLine line;
    const AgentRequest* row = nullptr;
    Deadline handler = Deadline::never(), answer = Deadline::never();
  };
  using JobPointer = std::shared_ptr<Job>;

  const AgentRequest* find(const std::string& name) const;
  void start(JobPointer job);
  void work(JobPointer job);
  Expected<nlohmann::json> run(const Job& job) const;
  // Sends it unless the job has been answered already.
  void finish(const JobPointer& job, const Expected<nlohmann::json>& reply);
  JobPointer next_or_leave();

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

}  // namespace plumbline
