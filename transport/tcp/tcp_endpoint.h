// Where a rank listens, as TCP says it: data addresses and a port, and the same as the bytes that
// travel between ranks and mean nothing to anybody else. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// One data address, as a host file names it.
struct RankAddress {
  std::string ip;
  int prefix = -1;        // -1 = unknown
  std::string interface;  // needed for link-local addresses; may be empty
  bool operator==(const RankAddress&) const = default;
};

// Where one rank can be reached: its data addresses, in preference order, and its port.
struct TcpEndpoint {
  int rank = -1;
  std::string host;  // name in the host file, for messages
  std::vector<RankAddress> addresses;
  uint16_t port = 0;
};

// Addresses and port; rank and host are known to whoever reads it.
std::string endpoint_bytes(const TcpEndpoint& endpoint);
// The reverse, of bytes that may be anybody's: kProtocol when they are no endpoint of TCP. `whose`
// stands in the error: "rank 2 on mini2".
Expected<TcpEndpoint> read_endpoint(std::string_view bytes, const std::string& whose);

}  // namespace plumbline
