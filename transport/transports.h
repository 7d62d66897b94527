// The table of transports and the one function that opens a Group over one of them. A transport is
// a row: name, help, whether it can be used here (or the reason why not), and its open function.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "core/param.h"
#include "core/sha256.h"
#include "transport/control/refused.h"
#include "transport/group.h"

namespace plumbline {

// Where one rank can be reached: its data addresses with prefix length, in preference order, and
// its port.
struct RankAddress {
  std::string ip;
  int prefix = -1;        // -1 = unknown
  std::string interface;  // needed for link-local addresses; may be empty
  bool operator==(const RankAddress&) const = default;
};
struct RankEndpoint {
  int rank = -1;
  std::string host;  // name in the host file, for messages
  std::vector<RankAddress> addresses;
  uint16_t port = 0;
};

using RankPair = std::pair<int, int>;

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
};

struct TransportRow {
  const char* name;
  const char* help;
  // Empty = usable here, otherwise the reason.
  std::string (*unavailable)();
  // Collective call: returns when the control connections to all ranks stand (and the data mesh
  // too, when eager).
  Expected<std::unique_ptr<Group>> (*open)(const GroupSpec& spec);
};

std::span<const TransportRow> transport_table();
// "auto" gives the best usable one. Unknown or unusable names are errors that say why.
Expected<const TransportRow*> find_transport(std::string_view name);

}  // namespace plumbline
