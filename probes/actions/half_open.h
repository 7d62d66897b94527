// Connections that a peer began and that the kernel holds half open: SYN came, SYN-ACK went out,
// the third packet has not come. Seen when answers do not get through to the peer. Platform code:
// half_open_linux.cc, half_open_macos.cc (cannot tell). Thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace plumbline {

struct HalfOpenConnection {
  std::string ip;  // ours; without scope
  int port = 0;
  std::string peer_ip;
  int peer_port = 0;
};
// Of these local ports, at this moment.
std::vector<HalfOpenConnection> half_open_connections(const std::set<int>& ports);

}  // namespace plumbline
