// The two ends of a pair probe as the agent is told them, the small waits that all actions share,
// and the lines with which the probes' connections and datagrams begin, with the answers to them
// (docs/agent_protocol.md). A line that is not exactly one of these comes from a stranger, whose
// bytes are made fit here to stand in JSON, on a terminal and in a report. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/fd.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/traffic.h"

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

// ---- lines ----

constexpr size_t kMaxProbeLine = 160;  // bytes, its end included
constexpr size_t kEchoBytes = 64;      // one message of mode `echo`

struct ProbeLine {
  std::string nonce, mode;
  int64_t argument = 0;
};
// "PLPROBE1 <nonce> <mode> <argument>\n"
std::string probe_line(const ProbeLine& line);
std::optional<ProbeLine> parse_probe_line(std::string_view text);
// Letters, digits, '.', '_' and '-', 1 to 64 of them.
bool usable_nonce(std::string_view nonce);

// "PLPROBE1 ok <nonce>\n", the answer to every line.
std::string ok_line(const std::string& nonce);

// What a sink says at the end: "PLPROBE1 got <bytes> <duration_ns> <cpu_ns> <segments>\n"; the
// last number may be missing.
struct SinkReport {
  int64_t bytes = 0;
  int64_t duration_ns = 0;  // from the first byte to the last
  int64_t cpu_ns = 0;       // of the thread that read them
  int64_t segments = 0;     // with data, that came in on this connection; 0 = not told
};
std::string sink_line(const SinkReport& report);
std::optional<SinkReport> parse_sink_line(std::string_view text);

// The first `max_bytes` bytes: printable ASCII as it is, line ends as "\n" and "\r" written out,
// everything else as "\xNN".
std::string escaped(std::string_view bytes, size_t max_bytes);
// "02:00:0a:0a:00:01": a link-layer address of any length.
std::string mac_text(std::string_view bytes);
// A fresh random word of 16 hex digits.
std::string new_nonce();

}  // namespace plumbline
