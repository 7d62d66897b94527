// The addresses at the ends of cables: those that they have, and a plan for those that lack them,
// clear of every network of all hosts. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host/ip.h"
#include "probes/cables.h"

namespace plumbline {

inline constexpr int kPlannedPrefix = 30;

// Every network that a host is in or has a route to, but for routes to nearly everything (a VPN's).
std::vector<Subnet> networks_in_use(const EvidenceSet& evidence);

// 192.168.0.0/30, 192.168.0.4/30 ... without those that are taken; where nothing is left of the
// first private network, of the next ones (RFC 1918).
class AddressPlan {
 public:
  explicit AddressPlan(std::vector<Subnet> taken) : taken_(std::move(taken)) {}
  std::optional<Subnet> next();  // nothing: all are taken

 private:
  std::vector<Subnet> taken_;
  int number_ = 0;
};
// "192.168.0.1" of 192.168.0.0/30 and 1.
std::string numbered_address(const Subnet& net, int number);

// The end's own address in the cable's network, "10.0.0.1/30"; empty = none.
std::string own_address_in(const EvidenceSet& evidence, const CableEnd& end,
                           const std::string& network);
// IPv4 addresses of the interface itself that somebody gave it.
std::vector<Cidr> given_to(const EvidenceSet& evidence, const CableEnd& end);
// Where this end has lost its address (in a restart) and the other one has kept its own of a /30:
// the one that is free there. Empty = that is not so.
std::string partner_of(const std::vector<Cidr>& own, const std::vector<Cidr>& other);

// The bridge that the port belongs to; nullptr = none.
const InterfaceEvidence* bridge_over(const EvidenceSet& evidence, const CableEnd& end);
bool is_in_bond(const EvidenceSet& evidence, const CableEnd& end);

}  // namespace plumbline
