// What an agent does for a pair probe, beside describing itself: listen, connect, stream, ping, ask
// for a neighbour, look up a route, count, capture. Each is one row of the table of requests
// (docs/agent_protocol.md lists parameters and replies). A session holds what stays open between
// requests (listeners, captures) and closes it when it ends. Nothing is changed on the host:
// sockets and captures are all that is ever opened. Thread-safe: requests run side by side.
#pragma once

#include <memory>
#include <vector>

#include "core/diagnosis/host_agent.h"

namespace plumbline {

struct SessionState;

class AgentSession {
 public:
  AgentSession();
  // Closes listeners, ends captures. Requests that come later are refused.
  ~AgentSession();
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  // Rows that may outlive the session: snapshot, memory, counters, watch, job, listen, listened,
  // unlisten, connect, burst, stream, round_trips, mtu, ping, route, neighbour, datagrams.open,
  // datagrams.send, datagrams.close, capture.start, capture.stop, capture.read, command.
  std::vector<AgentRequest> requests();

 private:
  std::shared_ptr<SessionState> state_;
};

// requests_host.cc, used by actions.cc alone: snapshot, nics, memory, cores, counters, watch,
// job, command.
std::vector<AgentRequest> host_requests();

}  // namespace plumbline
