// The listening end of pair probes: TCP listeners and UDP sockets on the ports of a job, who came
// to them, and the services behind them. One thread waits for all of them; connections that ask for
// a stream get a thread of their own. Whoever connects is a stranger until its first line is right:
// it gets at most 5 s and 160 bytes, and never an answer. Memory, threads and descriptors are
// bounded. Nothing stays when it is closed; no TIME-WAIT is left on a port of the job, because the
// other end closes first or the connection is reset. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/actions/platform.h"

namespace plumbline {

constexpr size_t kMaxListeners = 256;  // address and port pairs of one agent, both protocols each

struct ListenAddress {
  std::string ip, interface;
};
struct ListenState {
  std::string ip;
  int port = 0;
  std::string listener;  // "up" | "in_use" | "failed"
  std::string error;     // errno name, or a sentence
  std::string holder;    // when in use, who has it
  std::string role;      // of the holder, as in SocketEvidence
  bool udp = false;      // the same port is open for datagrams too
  std::string run = {};  // of the holder, as in SocketEvidence
};
struct AcceptedConnection {
  std::string ip;
  int port = 0;
  std::string peer_ip;
  int peer_port = 0;
  std::string nonce;  // empty: a stranger, or nothing was sent yet
};
struct SeenDatagrams {
  std::string ip;
  int port = 0;
  std::string peer_ip;
  int largest = 0;  // bytes of the IP packet
  int64_t count = 0;
};
struct Heard {
  std::vector<AcceptedConnection> accepted;
  std::vector<HalfOpenConnection> half_open;
  std::vector<SeenDatagrams> datagrams;
};

class ListenerHub {
 public:
  ListenerHub();
  ~ListenerHub();  // closes everything, waits for its threads
  ListenerHub(const ListenerHub&) = delete;
  ListenerHub& operator=(const ListenerHub&) = delete;

  // One state for each address and port. The same address and port may belong to several ids.
  // kUsage for an id that listens already.
  Expected<std::vector<ListenState>> listen(const std::string& id,
                                            const std::vector<ListenAddress>& addresses,
                                            const std::vector<int>& ports, const AgentCall& call);
  // What came since listen(); kUsage for an unknown id.
  Expected<Heard> heard(const std::string& id) const;
  // The ports are free when it returns. kUsage for an unknown id.
  Status unlisten(const std::string& id);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumbline
