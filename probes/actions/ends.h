// The two ends of a pair probe as the agent is told them, and the small waits that all actions
// share. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/fd.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/patience.h"

namespace plumbline {

struct PairEnds {
  SocketAddress from;     // length 0 when the system shall choose; port 0
  SocketAddress to;       // with the port, where one is used
  std::string interface;  // of the own address; needed for link-local ones
  std::string from_ip, to_ip;
};
// `from_ip` may be empty. kConfig when an address cannot be read or their families differ.
Expected<PairEnds> make_ends(const std::string& from_ip, const std::string& to_ip,
                             const std::string& interface, int port);

// The address alone, without port and scope.
std::string ip_text(const SocketAddress& address);
// Bytes of the IP header of this family, without options.
int ip_header_bytes(int family);

// The end of a request: its deadline, or that of the whole agent.
bool over(const AgentCall& call);
// How long what moves bytes for a request waits.
Patience patience_of(const AgentCall& call);
// CPU time that this thread has used, in nanoseconds.
int64_t thread_cpu_ns();
// The same request with an earlier deadline.
AgentCall within(const AgentCall& call, int64_t ns);
// poll(2) for `events` until the request is over; true when the descriptor is ready (or broken).
bool wait_for(int fd, short events, const AgentCall& call);
// Also closed when another program is started.
bool make_nonblocking(int fd);
// Closes a TCP connection with a reset, so that no TIME-WAIT stays on the port.
void close_hard(Fd& fd);

// Opens a TCP socket whose own port is fixed before anything is sent (so that captures can be
// matched with it), asks for ICMP errors and starts to connect. `err` is the errno of the failing
// call, 0 when the attempt is under way; the socket is invalid when none could be made.
struct StartedConnect {
  Fd fd;
  int source_port = 0;
  int err = 0;
  bool before_connect = false;  // it failed before anything could be sent
};
StartedConnect start_probe_connect(const PairEnds& ends, int port);

// Connects to a listener of the peer's agent and asks for a mode; the connection stands and was
// answered by ours, or an Error says what came instead.
Expected<Fd> open_service(const PairEnds& ends, const std::string& mode, int64_t argument,
                          const AgentCall& call);

}  // namespace plumbline
