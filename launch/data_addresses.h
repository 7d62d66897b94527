// Which data addresses each rank uses where no host file names them: those on the fastest link that
// it shares with its peers, never loopback, a container's bridge or a VPN when the world spans
// machines. A pure choice from the network cards of all ranks, so that every rank gets the same
// picture and tests can play any cluster.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/host/host.h"
#include "transport/address.h"

namespace plumbline {

struct RankNics {
  int rank = 0;
  std::string host;     // for messages
  std::string machine;  // ranks with the same text share one network stack
  std::vector<Nic> nics;
};

struct AddressChoice {
  std::vector<RankAddress> addresses;  // the best first; never empty
  std::string reason;                  // "10.10.0.1/24 on eth1: shared with node2, 25 Gbit/s"
};

// One choice per rank, in their order. One machine: 127.0.0.1 for all. Several: for every pair of
// machines the subnet that both have an address in, the one with the faster slower end first (known
// speeds before unknown ones, wired before wireless, then IPv4 before IPv6 and the order of the
// interfaces); a rank publishes the union over its pairs, so that a mesh of cables with one subnet
// each works. Pairs without a common subnet must be routed: both ends then publish all they have.
// kConfig when a machine has no address that could carry the world.
Expected<std::vector<AddressChoice>> choose_data_addresses(const std::vector<RankNics>& ranks);

// Why this interface never carries a world of several machines: "loopback", "down", "a container's
// bridge", "a VPN or tunnel" ...; empty = it may.
std::string why_excluded(const Nic& nic);

}  // namespace plumbline
