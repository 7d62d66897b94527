// Where a rank listens, as TCP says it: data addresses and a port, also as the bytes that travel
// between ranks and mean nothing to anybody else; and which two addresses a pair of ranks uses. The
// same bytes say what a rank can do more than TCP, and together with whom.
// Every rank publishes all its data addresses; the pair that shares a subnet carries the traffic
// and is bound as the source too, because in a mesh of cables (one /30 each) no single address
// would do. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/encode.h"
#include "core/error.h"

namespace plumbline {

// One data address, as a host file names it.
struct RankAddress {
  std::string ip;
  int prefix = -1;        // -1 = unknown
  std::string interface;  // needed for link-local addresses; may be empty
  // Of its card, bits per second; 0 = not known. A rank says it where it has several addresses.
  uint64_t speed_bps = 0;
  bool operator==(const RankAddress&) const = default;
};

// What a rank can make of its connections (transport/tcp/tcp_upgrade.h).
struct PairAbility {
  std::string transport;             // that they become
  std::optional<Digest> realm = {};  // ranks that say the same can together; none = it cannot
  std::string why_not = {};          // then, where somebody counts on it; may be empty
  bool operator==(const PairAbility&) const = default;
};

// Where one rank can be reached: its data addresses, in preference order, and its port.
struct TcpEndpoint {
  int rank = -1;
  std::string host;  // name in the host file, for messages
  std::vector<RankAddress> addresses;
  uint16_t port = 0;
  std::vector<PairAbility> abilities = {};
  // Only in what a rank is told of itself: by rank, its RDMA devices that face it.
  std::vector<std::vector<std::string>> rdma_devices = {};

  const PairAbility* ability(std::string_view transport) const;
};

// Addresses and port; rank and host are known to whoever reads it.
std::string endpoint_bytes(const TcpEndpoint& endpoint);
// The reverse, of bytes that may be anybody's: kProtocol when they are no endpoint of TCP. `whose`
// stands in the error: "rank 2 on mini2".
Expected<TcpEndpoint> read_endpoint(std::string_view bytes, const std::string& whose);

// "10.10.0.1/24" of a host file.
RankAddress rank_address(const std::string& text, const std::string& interface);

struct AddressPair {
  RankAddress local, remote;
  bool shared_subnet = false;  // on one link by their prefixes, or the very same address
  bool operator==(const AddressPair&) const = default;
};

// Candidates for a connection from `mine` to `peer`, best first; never empty. When addresses share
// a subnet, that is exactly one: the longest prefix, an ordinary before a link-local address, then
// the order in the host file. Otherwise all pairs of one family in that order, to be tried until
// one routes. Loopback counts only between ranks of one host, or where there is nothing else.
Expected<std::vector<AddressPair>> address_pairs(const TcpEndpoint& mine, const TcpEndpoint& peer);

// The cables between two hosts, as far as addresses tell: a pair for each subnet that both are on,
// the first as address_pairs() has it, then in its order; empty where they share none. Both ends
// get the same. Further ones count only where data may go over them and the first in equal parts
// and to good use: between hosts, of the first one's family, not link-local (all links share that
// subnet), and of the first one's speed where cards tell theirs.
std::vector<AddressPair> cable_pairs(const TcpEndpoint& mine, const TcpEndpoint& peer);

// Two endpoints of the same entry of the host file.
bool same_host(const TcpEndpoint& a, const TcpEndpoint& b);

}  // namespace plumbline
