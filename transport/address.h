// Which two addresses a pair of ranks uses. Every rank publishes all its data addresses; the pair
// that shares a subnet carries the traffic and is bound as the source too, because in a mesh of
// cables (one /30 each) no single address would do. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "core/error.h"
#include "transport/tcp/tcp_endpoint.h"

namespace plumbline {

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

// Two endpoints of the same entry of the host file.
bool same_host(const TcpEndpoint& a, const TcpEndpoint& b);

}  // namespace plumbline
