// The rows of AgentSession's table by subject, and what they share. Used by actions.cc alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/actions/listener.h"
#include "probes/trace/capture.h"

namespace plumbline {

constexpr size_t kMaxCaptures = 16;          // running and kept ones of one agent together
constexpr size_t kMaxPorts = 4096;           // of one request
constexpr size_t kMaxCommandOut = 64 << 10;  // bytes, as CommandEvidence says

// What lives longer than one request. Thread-safe.
struct SessionState {
  std::mutex mutex;
  std::shared_ptr<ListenerHub> listeners = std::make_shared<ListenerHub>();
  std::map<std::string, std::shared_ptr<Capture>> running;
  std::map<std::string, std::shared_ptr<const std::string>> kept;  // files of ended captures
  bool closed = false;

  void close();
  // Null after close().
  std::shared_ptr<ListenerHub> hub();
};
using Session = std::shared_ptr<SessionState>;

// snapshot, counters, command
std::vector<AgentRequest> host_requests();
// listen, listened, unlisten
std::vector<AgentRequest> listener_requests(const Session& session);
// connect, burst, stream, round_trips, idle, mtu, ping, route, neighbour
std::vector<AgentRequest> pair_requests();
// capture.start, capture.stop, capture.read
std::vector<AgentRequest> capture_requests(const Session& session);

// `ports`: numbers, at most kMaxPorts of them.
Expected<std::vector<int>> ports_of(const nlohmann::json& params);

}  // namespace plumbline
