// The rows of AgentSession's table by subject, and what they share. Used by actions.cc alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "probes/actions/ends.h"
#include "probes/agent_requests.h"
#include "probes/traces/capture.h"

namespace plumbline {

constexpr size_t kMaxCaptures = 16;          // running and kept ones of one agent together
constexpr size_t kMaxPorts = 4096;           // of one request
constexpr size_t kMaxCommandOut = 64 << 10;  // bytes, as CommandEvidence says

// What lives longer than one request. Thread-safe.
struct SessionState {
  std::mutex mutex;
  std::shared_ptr<DatagramHub> datagrams = std::make_shared<DatagramHub>();
  std::shared_ptr<ListenerHub> listeners = std::make_shared<ListenerHub>();
  std::map<std::string, std::shared_ptr<Capture>> running;
  std::map<std::string, std::shared_ptr<const std::string>> kept;  // files of ended captures
  bool closed = false;

  void close();
  // Null after close().
  std::shared_ptr<ListenerHub> hub();
  std::shared_ptr<DatagramHub> datagram_hub();
};
using Session = std::shared_ptr<SessionState>;

// snapshot, nics, memory, counters, watch, command
std::vector<AgentRequest> host_requests();
// listen, listened, unlisten
std::vector<AgentRequest> listener_requests(const Session& session);
// connect, burst, stream, round_trips, idle, mtu, ping, route, neighbour
std::vector<AgentRequest> pair_requests();
// datagrams.open, datagrams.send, datagrams.close
std::vector<AgentRequest> datagram_requests(const Session& session);
// capture.start, capture.stop, capture.read
std::vector<AgentRequest> capture_requests(const Session& session);

// With the port of the peer, 0 where none is used.
Expected<PairEnds> ends_of(const AskedWay& way, int port);
tl::unexpected<Error> session_ended();
// At most kMaxPorts of them.
Status few_ports(const std::vector<int>& ports);

}  // namespace plumbline
