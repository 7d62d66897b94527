// Remedies for pair causes, as root on the host that the finding names: past a rule that is known,
// or else for the firewall front end that the host has. Nothing here is ever run. Pure functions,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "probes/evidence.h"

namespace plumbline {

// Who is to be let through, seen from the host where the remedy is applied.
struct Passage {
  std::string own_ip, peer_ip, peer_name;
  std::vector<int> ports;
  bool own_ports = true;  // the ports are this host's own; otherwise the peer's
  bool incoming = true;   // packets are lost on their way into this host; otherwise out of it
};
// Between the ends of this pair, whose `to` listens.
Passage passage_at(const PairEvidence& pair, bool at_listener);
// Past a rule that is known by name; else by what the host has.
Remedy remedy_open(const HostEvidence* host, const FilterRule* rule, const Passage& passage);
Remedy remedy_open(const HostEvidence* host, const Passage& passage);

// Keeps packets to this peer at or below `mtu` bytes; `via` and `dev` as the route lookup says.
Command remedy_route_mtu(const HostEvidence* host, const std::string& peer_ip,
                         const std::string& own_ip, const std::string& via, const std::string& dev,
                         int mtu);

}  // namespace plumbline
