// Two hosts in network namespaces of a test's own, joined by a cable of two virtual interfaces,
// with an agent's requests on both. Nothing outside them changes, and they end with the process
// that made them.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "actions/support.h"
#include "core/json.h"
#include "probes/actions/actions.h"
#include "tests/support/agents.h"

namespace plumbline::test {

using Json = nlohmann::json;

constexpr int kTwoHostsPort = 29600;
// What an ask is given that must succeed, also on a busy machine; others, whose time runs out as it
// shall, are given less.
constexpr int64_t kMustSucceedMs = 2'000, kRunsOutMs = 400;

inline bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

// Host b: a thread with a namespace of its own, which runs what it is given.
class OtherHost {
 public:
  OtherHost() {
    std::promise<int> ready;
    thread_ = std::thread([this, &ready] {
      good_ = ::unshare(CLONE_NEWNET) == 0 && run("ip link set lo up");
      ready.set_value(::gettid());
      std::unique_lock lock(mutex_);
      while (!ending_) {
        if (job_) (*std::exchange(job_, nullptr))();
        changed_.notify_all();
        if (!job_ && !ending_) changed_.wait(lock);
      }
    });
    id_ = ready.get_future().get();
  }
  ~OtherHost() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  bool good() const { return good_; }
  int id() const { return id_; }
  void call(const std::function<void()>& job) {
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool ending_ = false, good_ = false;
  int id_ = 0;
  std::thread thread_;
};

struct TwoHosts {
  OtherHost b;
  std::unique_ptr<AgentSession> session_a, session_b;
  std::unique_ptr<HostAgent> agent_a, agent_b;

  bool up() {
    const std::string id = std::to_string(b.id());
    if (!b.good() || !run("ip link add cable0 type veth peer name cable1 && ip link set cable1 "
                          "netns " +
                          id +
                          " && ip addr add 10.77.0.1/24 dev cable0 && ip addr add "
                          "fd77::1/64 dev cable0 nodad && ip link set cable0 up")) {
      return false;
    }
    session_a = std::make_unique<AgentSession>();
    agent_a = make_in_process_agent("a", session_a->requests());
    bool good = false;
    b.call([&] {
      good =
          run("ip addr add 10.77.0.2/24 dev cable1 && ip addr add fd77::2/64 dev cable1 nodad "
              "&& ip link set cable1 up");
      session_b = std::make_unique<AgentSession>();
      agent_b = make_in_process_agent("b", session_b->requests());
    });
    return good && run(settled("cable0")) && on_b(settled("cable1")) && listen();
  }
  // The kernel tells of a carrier up to a second later, and sends nothing before.
  static std::string settled(const std::string& interface) {
    return "for i in $(seq 200); do ip -o link show dev " + interface +
           " | grep -q 'state UP' && exit 0; sleep 0.05; done; exit 1";
  }
  bool listen() {
    return ask_b("listen",
                 {{"id", "x"},
                  {"addresses",
                   {{{"ip", "10.77.0.2"}, {"interface", "cable1"}},
                    {{"ip", "fd77::2"}, {"interface", "cable1"}}}},
                  {"ports", {kTwoHostsPort, kTwoHostsPort + 1}}})["ports"][0]["listener"] == "up";
  }
  bool on_b(const std::string& command) {
    bool good = false;
    b.call([&] { good = run(command); });
    return good;
  }
  Json ask_a(const std::string& request, const Json& params) {
    return answer(call(*agent_a, request, params, Deadline::after_ms(15'000)));
  }
  Json ask_b(const std::string& request, const Json& params) {
    Json out;
    b.call([&] { out = answer(call(*agent_b, request, params, Deadline::after_ms(15'000))); });
    return out;
  }
  static Json answer(const Expected<Json>& reply) {
    return reply ? *reply : Json{{"error", reply.error()}};
  }
  static Json towards_b(bool v6 = false, int64_t timeout_ms = kRunsOutMs) {
    return {{"from_ip", v6 ? "fd77::1" : "10.77.0.1"},
            {"interface", "cable0"},
            {"to_ip", v6 ? "fd77::2" : "10.77.0.2"},
            {"port", kTwoHostsPort},
            {"ports", {kTwoHostsPort, kTwoHostsPort + 1}},
            {"timeout_ms", timeout_ms},
            {"count", 4},
            {"interval_ms", 20}};
  }
};

// Runs `body` on the two hosts, after `setup_b` on b; skips the test where that is not possible.
inline Json on_two_hosts(const std::string& setup_b, const std::function<Json(TwoHosts&)>& body) {
  return in_namespace("", [&]() -> Json {
    TwoHosts hosts;
    if (!hosts.up()) return "two hosts joined by virtual interfaces cannot be made here";
    if (!setup_b.empty() && !hosts.on_b(setup_b)) return "cannot run on the other host: " + setup_b;
    return body(hosts);
  });
}

inline std::string nft(const std::string& hook, const std::string& rule) {
  return "nft 'table inet t { chain c { type filter hook " + hook + " priority 0; " + rule +
         "; }; }'";
}

}  // namespace plumbline::test

// Skips the test, with the reason, where such hosts cannot be made.
#define NEED_HOSTS(result)                                                          \
  if ((result).is_null()) GTEST_SKIP() << "network namespaces cannot be made here"; \
  if ((result).is_string()) GTEST_SKIP() << (result).get<std::string>()
