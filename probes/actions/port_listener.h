// One address and port of a ListenerHub with what was seen on it; one connection to it whose first
// line has not come yet; and what is done with it after that line (docs/agent_protocol.md): the
// answering end of streams, round trips and transfers. Used by listener.cc alone. The records may
// be read by several threads, services run in threads of their own, everything else belongs to the
// hub's thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/fd.h"
#include "probes/actions/ends.h"
#include "probes/actions/listener.h"
#include "transport/tcp/socket.h"

namespace plumbline {

// Bounded: what comes beyond is served, but not written down.
class PortRecords {
 public:
  explicit PortRecords(std::string ip, int port) : ip_(std::move(ip)), port_(port) {}

  // Number to be used with set_nonce.
  size_t add_accepted(const std::string& peer_ip, int peer_port);
  void set_nonce(size_t number, const std::string& nonce);
  void add_half_open(const HalfOpenConnection& connection);
  void add_datagram(const std::string& peer_ip, int packet_bytes);

  struct Sizes {
    size_t accepted = 0, half_open = 0;
  };
  Sizes so_far() const;
  // Appends what came after the first so many.
  void copy_to(Heard& heard, const Sizes& before) const;

 private:
  std::string ip_;
  int port_;
  mutable std::mutex mutex_;
  std::vector<AcceptedConnection> accepted_;
  std::vector<HalfOpenConnection> half_open_;
  std::vector<SeenDatagrams> datagrams_;
};

struct PortListener {
  std::string ip;        // as asked for
  std::string plain_ip;  // without scope
  int port = 0;
  Fd tcp, udp;
  std::shared_ptr<PortRecords> records;
};
// Opens both sockets; `state` says how it went. Null when TCP cannot be had.
std::shared_ptr<PortListener> open_port(const ListenAddress& address, int port, ListenState& state);

// Reads all waiting datagrams (bounded), writes them down and answers those that are ours, never
// with more bytes than came.
void answer_datagrams(PortListener& listener);

// A connection before its first line is complete, or after it was answered and until it is closed.
class Pending {
 public:
  Pending(Fd fd, std::shared_ptr<PortRecords> records, size_t number);

  int fd() const { return fd_.get(); }
  bool expired() const { return monotonic_ns() > until_ns_; }
  enum class Next { kWait, kClose, kServe };
  // Reads what is there.
  Next step();
  void refuse() { close_hard(fd_); }  // closes with a reset
  // For kServe.
  Fd take() { return std::move(fd_); }
  const ProbeLine& line() const { return line_; }
  std::string early() const { return text_; }

 private:
  Next first_line();

  Fd fd_;
  std::shared_ptr<PortRecords> records_;
  size_t number_;
  int64_t until_ns_;
  std::string text_;
  ProbeLine line_;
  bool answered_ = false;
};

// ---- services ----

// "sink", "source", "both", "echo" or "paced".
bool known_service(const std::string& mode);
// Closes the connection at the end; soon after `ending` becomes true. `early` is what the peer sent
// behind its first line already.
void serve_connection(Fd connection, const ProbeLine& line, std::string early,
                      const std::atomic<bool>& ending);

}  // namespace plumbline
