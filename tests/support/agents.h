// Agents for tests: a question and its answer at once, and an agent that answers in this very
// process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/json.h"

namespace plumbline {

inline Expected<nlohmann::json> call(HostAgent& agent, const std::string& request,
                                     const nlohmann::json& params, Deadline deadline) {
  return agent.reply(agent.ask(request, params, deadline));
}

class InProcessAgent : public HostAgent {
 public:
  InProcessAgent(std::string host, std::vector<AgentRequest> requests)
      : host_(std::move(host)), requests_(std::move(requests)) {}

  ~InProcessAgent() override {
    ending_ = true;
    for (auto& [ticket, pending] : pending_) pending->worker.join();
  }

  const std::string& host() const override { return host_; }

  int64_t ask(const std::string& request, const nlohmann::json& params,
              Deadline deadline) override {
    auto pending = std::make_shared<Pending>();
    pending->deadline = deadline;
    pending->request = request;
    pending->worker = std::thread([this, request, params, deadline, pending] {
      Expected<nlohmann::json> answer = run(request, params, deadline);
      const std::lock_guard lock(mutex_);
      pending->answer = std::move(answer);
      pending->done = true;
      changed_.notify_all();
    });
    const std::lock_guard lock(mutex_);
    pending_[++last_ticket_] = pending;
    return last_ticket_;
  }

  Expected<nlohmann::json> reply(int64_t ticket) override {
    std::unique_lock lock(mutex_);
    const auto it = pending_.find(ticket);
    if (it == pending_.end()) return fail(ErrorCode::kUsage, "no request with this ticket");
    const std::shared_ptr<Pending> pending = it->second;
    while (!pending->done && !pending->deadline.passed()) {
      changed_.wait_for(lock, std::chrono::milliseconds(pending->deadline.poll_timeout_ms(1000)));
    }
    if (!pending->done) {
      return fail(ErrorCode::kTimeout,
                  host_ + " did not answer '" + pending->request + "' in time");
    }
    pending_.erase(ticket);
    lock.unlock();
    pending->worker.join();
    return std::move(pending->answer);
  }

 private:
  struct Pending {
    std::string request;
    Deadline deadline = Deadline::never();
    std::thread worker;
    bool done = false;
    Expected<nlohmann::json> answer{nlohmann::json()};
  };

  Expected<nlohmann::json> run(const std::string& request, const nlohmann::json& params,
                               Deadline deadline) {
    for (const AgentRequest& row : requests_) {
      if (row.name != request) continue;
      try {
        return row.run(params, AgentCall{deadline, &ending_});
      } catch (const std::exception& problem) {
        return fail(ErrorCode::kProtocol, "request '" + request + "': " + exception_words(problem));
      }
    }
    return fail(ErrorCode::kUnsupported, "this agent does not know the request '" + request + "'");
  }

  std::string host_;
  std::vector<AgentRequest> requests_;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::shared_ptr<Pending>> pending_;
  int64_t last_ticket_ = 0;
};

// Each request in a thread of its own. Waits for running handlers when destroyed.
inline std::unique_ptr<HostAgent> make_in_process_agent(std::string host,
                                                        std::vector<AgentRequest> requests) {
  return std::make_unique<InProcessAgent>(std::move(host), std::move(requests));
}

}  // namespace plumbline
