// The table of transports, what a rank needs to know to open its Group over any of them, and the
// one way to do it. A rank first claims its place (claim), which gives bytes that say how to reach
// it; whoever started the ranks hands everybody's bytes to everybody; then all open their groups
// (open). What the bytes mean is known to the row alone. Thread-safe; plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/encode.h"
#include "core/options/options.h"
#include "transport/address.h"
#include "transport/group.h"

namespace plumbline {

// Connections that failed the handshake: how many, and from which addresses. Counted where they are
// refused, added up over ranks and cells, told once. Strangers may come from ever new addresses, so
// only the first few are kept apart.
struct RefusedConnections {
  static constexpr size_t kMostAddresses = 16;

  uint64_t total = 0;
  std::map<std::string, uint64_t> by_address;  // without the port; at most kMostAddresses

  void add(const std::string& address, uint64_t count = 1);
  void add(const RefusedConnections& others);
  // "250 connections that are not of this run were refused: 10.0.0.9 (240), 10.0.0.7 (10)".
  std::string text() const;
};

// The same, filled by one thread and emptied by another.
class RefusedTally {
 public:
  void add(const std::string& address);
  // What came since the last call.
  RefusedConnections take();

 private:
  std::mutex mutex_;
  RefusedConnections refused_;
};

// How to reach one rank, as the coordinator tells all ranks.
struct RankEndpoint {
  std::string host;     // name in the host file, for messages
  std::string claimed;  // bytes of its claim (transports.h), which only its transport reads
};

using RankPair = std::pair<int, int>;

// What a rank needs to know to open its Group, whatever carries the bytes, and what all transports
// read out of it in the same way.
struct GroupSpec {
  int rank = 0;
  int size = 1;
  uint32_t id = 1;                      // group id; a restarted group gets a new one
  std::vector<RankEndpoint> endpoints;  // one per rank, same on all ranks
  // Pairs of ranks that have no path between them (leaves of a star), same on all ranks: they are
  // never connected, hear of failures from the others, and may not send to one another.
  std::vector<RankPair> apart;
  Digest token{};  // run token
  const OptionSet* options = nullptr;
  // What all ranks must agree on beside the options, as "key=value\n" lines (the plan hash); part
  // of the handshake.
  std::string agreement;
  const Logger* log = nullptr;
  RefusedTally* refused = nullptr;  // counts connections that failed the handshake; may be null
  // Told of the control plane before it connects, so that somebody else can end the wait for ranks
  // that will not come; may be empty.
  std::function<void(const std::shared_ptr<ControlPlane>&)> started;
  CrcFunction crc32c = nullptr;  // fast CRC-32C for transport_crc; null = a table
  int cores_usable = 1;          // of this host, to decide about spinning
  int ranks_on_host = 1;
  // Two threads of each rank move bytes, where the transport can; same on all ranks.
  bool progress_thread = false;
  // What the second one calls first, so that it runs on a core of its own; empty = none is for it.
  std::function<void()> spare_core;
};

// Ranks, endpoints and pairs that contradict one another: kConfig.
Status check_spec(const GroupSpec& spec);
// By peer: has no path to this rank; empty when all ranks are connected.
std::vector<bool> apart_from(const GroupSpec& spec);
bool is_apart(const std::vector<bool>& apart, int peer);
// What all ranks compare before they trust one another, as "key=value\n" lines.
std::string agreed_text(const GroupSpec& spec);
ChannelOptions channel_options(const GroupSpec& spec);
// For ChannelOptions::direct_bytes.
size_t direct_bytes(const OptionSet& options);
WaitOptions wait_options(const GroupSpec& spec);

class ThreadMeeting;  // transport/memory/memory.h
struct TcpUpgrade;    // transport/tcp/tcp_upgrade.h

// What the coordinator knows of the place of a rank that has not started yet.
struct RankSite {
  std::vector<RankAddress> addresses;  // data addresses of its host, in preference order
  uint16_t port = 0;                   // its own in the window of port_base; 0 = any
  // By rank: its RDMA devices that face it, of the host file's matrix; empty = it names none.
  std::vector<std::vector<std::string>> rdma_devices = {};
};

struct ClaimSpec {
  std::string site;  // what the row's site() said of this rank
  const OptionSet* options = nullptr;
  Deadline patience = Deadline::after_ms(0);  // for what a rank of the start before still holds
  // Where the ranks are threads of one process: the same for all of them; null = this rank is a
  // process of its own.
  ThreadMeeting* meeting = nullptr;
};

// What a rank holds between its claim and its group. Used by one thread.
class TransportClaim {
 public:
  virtual ~TransportClaim() = default;
  // How others reach this rank, for RankEndpoint::claimed.
  virtual std::string endpoint() const = 0;
  // Collective call, once: returns when the control connections to all ranks stand (and the data
  // mesh too, when eager), or after connect_timeout_ms with the ranks that are missing.
  // spec.endpoints holds what all ranks have claimed.
  virtual Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) = 0;
};

struct TransportRow {
  const char* name;
  const char* help;
  bool takes_ports;    // one per rank, of the window that begins at port_base
  bool takes_streams;  // joins a pair by several connections where the option streams says so
  // Empty = usable where ranks are threads of one process, or processes; otherwise the reason.
  std::string (*unavailable)(bool ranks_in_process);
  // For ClaimSpec::site, in the coordinator.
  std::string (*site)(const RankSite& site);
  // In the rank.
  Expected<std::unique_ptr<TransportClaim>> (*claim)(const ClaimSpec& spec);
  // In the rank, of what it is told of itself: what it makes of a pair's authenticated TCP
  // connection, for `auto` to take where both ranks can; null = nothing.
  TcpUpgrade (*upgrade)(const OptionSet& options, const TcpEndpoint& site) = nullptr;
};

std::span<const TransportRow> transport_table();
// "auto" stands for a row that is not in the table: pairs of processes that can do more than TCP do
// what the first row with an upgrade that both can makes of them, all others stay on TCP, and Group
// says which and why. Ranks in one process get the first usable row. Unknown or unusable names are
// errors that say why.
Expected<const TransportRow*> find_transport(std::string_view name, bool ranks_in_process);
// The same in another table, where "auto" is its first usable row.
Expected<const TransportRow*> find_transport(std::span<const TransportRow> table,
                                             std::string_view name, bool ranks_in_process);
// What the option `transport` may be: auto, and the names of the table.
OptionChoices transport_choices();

}  // namespace plumbline
