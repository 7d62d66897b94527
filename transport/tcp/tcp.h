// The row of the table for TCP. A rank first claims its port with a TcpListener, learns the
// endpoints of all ranks from whoever started it, and then opens the group, which connects every
// pair.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/log.h"
#include "transport/control/blame.h"
#include "transport/control/connectors.h"
#include "transport/group.h"
#include "transport/tcp/tcp_stream.h"
#include "transport/tcp/tcp_upgrade.h"
#include "transport/transports.h"

namespace plumbline {

class ControlState;
class ProgressThread;

// The ways to one peer.
struct PeerPaths {
  std::vector<AddressPair> candidates;  // best first, to be tried until one routes
  std::vector<AddressPair> cables;      // that the data connections take in turn; empty = not known
  size_t streams = 1;                   // data connections
  size_t bulk_streams = 0;  // the last of these: for large messages, half for each direction
};

struct ControlConfig {
  HandshakeIdentity identity;
  std::vector<TcpEndpoint> endpoints;  // by rank; this rank's own too
  std::vector<PeerPaths> paths;        // by peer; empty ones of this rank and those apart
  std::unique_ptr<TcpListener> listener;
  SocketOptions socket_options;
  std::shared_ptr<ProgressThread> progress;  // writes to the bulk streams; null = there are none
  std::vector<bool> apart;                   // by peer: never connected; empty = none is
  bool eager = true;                         // data connections at once, not when first used
  int64_t heartbeat_ns = kSecond;
  int64_t watchdog_ns = 30 * kSecond;  // of an operation; a peer may be silent a little longer
  int64_t connect_timeout_ms = 30'000;
  const Logger* log = nullptr;      // may be null
  RefusedTally* refused = nullptr;  // counts strangers; may be null
};

// The control thread: makes the mesh (the lower rank dials the higher one), tells peers every
// second that it lives, answers their questions, carries aborts to everybody, and notices when a
// peer's process ends. It never touches a data connection after handing it over; it shares only the
// ControlState. Everything must outlive it; returns soon after the stop request, when the peers
// know.
void run_control_loop(const ControlConfig& config, ControlState& state,
                      const FlightRecorder& recorder);

// The control plane over TCP: a ControlPlane whose thread also builds the mesh and hands the data
// connections over. Destruction says goodbye to the peers and joins the thread within half a
// second.
class TcpControl : public ControlPlane {
 public:
  // Starts the thread; connections come up in the background.
  static Expected<std::shared_ptr<TcpControl>> start(ControlConfig config);

  // Waits until the control connections to all ranks stand, and the data connections too in an
  // eager mesh. At the deadline: which ranks are missing and what each try was answered.
  virtual Status establish(Deadline deadline) = 0;
  // The data connections to a peer as one stream, made now when there are none yet. Each only once.
  virtual Expected<std::unique_ptr<ByteStream>> take_data(int peer, Deadline deadline) = 0;
};

std::string tcp_unavailable(bool ranks_in_process);
std::string tcp_site(const RankSite& site);
Expected<std::unique_ptr<TransportClaim>> claim_tcp(const ClaimSpec& spec);

// The same for a transport that begins as TCP. `make` says what it makes of connections, of what
// the rank is told of itself.
using MakeUpgrades = std::function<std::vector<TcpUpgrade>(const TcpEndpoint& site)>;
Expected<std::unique_ptr<TransportClaim>> claim_over_tcp(const ClaimSpec& spec,
                                                         const MakeUpgrades& make);

// TransportClaim::open over a listener whose addresses and port are those of
// spec.endpoints[spec.rank].
Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener,
                                                const std::vector<TcpUpgrade>& upgrades = {});

// Where the rank of this endpoint listens, for those who measure beside the group.
Expected<TcpEndpoint> tcp_endpoint(int rank, const RankEndpoint& endpoint);

}  // namespace plumbline
