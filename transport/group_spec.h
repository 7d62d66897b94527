// What a rank needs to know to open its Group, whatever carries the bytes, and what all transports
// read out of it in the same way. Plain values and pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/options/options.h"
#include "core/sha256.h"
#include "transport/control/refused.h"
#include "transport/group.h"

namespace plumbline {

// How to reach one rank, as the coordinator tells all ranks.
struct RankEndpoint {
  std::string host;     // name in the host file, for messages
  std::string claimed;  // bytes of its claim (transports.h), which only its transport reads
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

// Ranks, endpoints and pairs that contradict one another: kConfig.
Status check_spec(const GroupSpec& spec);
// By peer: has no path to this rank; empty when all ranks are connected.
std::vector<bool> apart_from(const GroupSpec& spec);
bool is_apart(const std::vector<bool>& apart, int peer);
// What all ranks compare before they trust one another, as "key=value\n" lines.
std::string agreed_text(const GroupSpec& spec);
ChannelOptions channel_options(const GroupSpec& spec);
WaitOptions wait_options(const GroupSpec& spec);

}  // namespace plumbline
