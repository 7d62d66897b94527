// What the tests of the agent's actions share: calls with a time limit, foreign services to run
// into, and network namespaces of the test's own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/diagnosis/host_agent.h"
#include "core/json.h"
#include "probes/actions/ends.h"
#include "probes/actions/listener.h"
#include "tests/support/ports.h"

namespace plumbline::test {

inline AgentCall call_within(int64_t ms) { return {Deadline::after_ms(ms), nullptr}; }

inline PairEnds ends_on_loopback(int port, const std::string& to = "127.0.0.1",
                                 const std::string& from = "127.0.0.1") {
  return make_ends(from, to, "", port).value();
}

// A listener of ours on one free port.
int listen_somewhere(ListenerHub& hub, const std::string& id, const std::string& ip = "127.0.0.1");

// Accepts connections one after the other and gives each to `serve`, until it is destroyed.
class Stranger {
 public:
  explicit Stranger(std::function<void(int fd)> serve, const std::string& ip = "127.0.0.1");
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  int port() const { return port_; }

 private:
  int port_ = 0;  // before the listener, which sets it
  Fd listener_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// A client connection whose calls wait up to 5 s; `text` is sent.
Fd raw_client(int port, const std::string& text, const std::string& ip = "127.0.0.1");
// Everything up to the end of the connection, "<reset>" behind it when it was reset, "<time>" when
// it did not end within 10 s.
std::string read_all(int fd);

// Runs `body` in a child process with a network namespace of its own, loopback up; null when such a
// namespace cannot be made here. `setup` is given to a shell first.
nlohmann::json in_namespace(const std::string& setup, const std::function<nlohmann::json()>& body);
bool namespaces_work();

}  // namespace plumbline::test
