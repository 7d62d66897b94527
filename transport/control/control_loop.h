// The control thread of one rank: asleep in poll(2) on the listener, on one control connection per
// peer, on connections that are being made, and on a pipe with which the rank's thread wakes it. It
// makes the mesh (the lower rank dials the higher one), tells peers every second that it lives,
// answers their questions, carries aborts to everybody, and notices when a peer's process ends. It
// never touches a data connection after handing it over. Runs in one thread; shares only the
// ControlState.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "transport/control/acceptor.h"
#include "transport/control/control_link.h"
#include "transport/control/control_state.h"
#include "transport/control/dialer.h"
#include "transport/control/flight_recorder.h"
#include "transport/control/refused.h"
#include "transport/tcp/tcp_listener.h"

namespace plumbline {

struct ControlConfig {
  HandshakeIdentity identity;
  std::vector<TcpEndpoint> endpoints;           // by rank; this rank's own too
  std::vector<std::vector<AddressPair>> pairs;  // by peer, best first
  std::unique_ptr<TcpListener> listener;
  SocketOptions socket_options;
  std::vector<bool> apart;  // by peer: never connected; empty = none is
  bool eager = true;        // data connections at once, not when first used
  int64_t heartbeat_ns = kSecond;
  int64_t watchdog_ns = 30 * kSecond;  // of an operation; a peer may be silent a little longer
  int64_t connect_timeout_ms = 30'000;
  const Logger* log = nullptr;      // may be null
  RefusedTally* refused = nullptr;  // counts strangers; may be null
};

class ControlLoop {
 public:
  // Everything must outlive the loop.
  ControlLoop(const ControlConfig& config, ControlState& state, const FlightRecorder& recorder);
  // Returns soon after the stop request, when the peers know (at most kFarewellNs later).
  void run();

 private:
  struct Peer {
    std::unique_ptr<ControlLink> link;
    std::unique_ptr<Dialer> control_dialer, data_dialer;
    std::optional<AddressPair> pair;  // that the control dialer found
    bool left = false;                // said goodbye, or was lost
    bool silent_logged = false;
  };

  void round();
  int timeout_ms() const;
  void serve_requests();
  void start_dialer(int peer, Purpose purpose);
  void want_data(int peer, bool asked_by_peer);
  void step_dialers();
  void dialer_ended(int peer, Dialer& dialer, bool connected);
  void connected(int peer, Purpose purpose, Fd fd);
  void refused(int claimed, const Error& error, bool fatal);
  void step_links();
  bool handle(int peer, ControlKind kind, std::span<const std::byte> fields);
  void link_lost(int peer, const Error& error);
  void heartbeat();
  void watch_silence(int peer, int64_t now);
  bool tells_of(int silent) const;
  void broadcast_failure();
  void start_farewell();
  bool farewell_over() const;
  std::string name(int peer) const;
  void info(const std::string& text) const;

  const ControlConfig& config_;
  ControlState& state_;
  const FlightRecorder& recorder_;
  const int rank_;
  std::vector<Peer> peers_;
  Acceptor acceptor_;
  PollSet poll_;
  int64_t next_heartbeat_ns_ = 0;
  int64_t silence_ends_ns_ = 0;  // when the peer that has been silent longest is given up
  int64_t last_heartbeat_ns_ = 0;
  int64_t awake_since_ns_ = 0;     // silence before that is this process's own
  int64_t farewell_until_ns_ = 0;  // 0 = not stopping
  bool failure_sent_ = false;
};

}  // namespace plumbline
