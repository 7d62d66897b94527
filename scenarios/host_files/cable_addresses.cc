#include "scenarios/host_files/cable_addresses.h"

#include <fmt/format.h>

#include <array>

#include "core/ranges.h"
#include "probes/evidence_query.h"

namespace plumbline {
namespace {

constexpr int kLeastPrefix = 8;  // of a route that takes a network away

}  // namespace

std::optional<Subnet> AddressPlan::next() {
  constexpr int kNetworks = 256 * 64;  // of a /16
  constexpr std::array<std::array<uint8_t, 2>, 3> kBases = {{{192, 168}, {172, 20}, {10, 77}}};
  while (number_ < kNetworks * static_cast<int>(kBases.size())) {
    const auto& base = kBases[static_cast<size_t>(number_ / kNetworks)];
    const int at = number_++ % kNetworks;
    Ip ip;
    ip.bytes = {base[0], base[1], static_cast<uint8_t>(at / 64), static_cast<uint8_t>(at % 64 * 4)};
    const Subnet net{ip, kPlannedPrefix};
    if (none_of(taken_, [&](const Subnet& other) { return overlap(other, net); })) return net;
  }
  return std::nullopt;
}

std::vector<Subnet> networks_in_use(const EvidenceSet& evidence) {
  std::vector<Subnet> out;
  for (const HostEvidence& host : evidence.hosts) {
    for (const InterfaceEvidence& interface : host.interfaces) {
      for (const AddressEvidence& address : interface.addresses) {
        const auto ip = parse_ip(address.ip);
        if (ip && !ip->v6)
          out.push_back({*ip, address.prefix < kLeastPrefix ? 32 : address.prefix});
      }
    }
    for (const RouteEvidence& route : host.routes) {
      const auto net = parse_ip_subnet(route.destination);
      const auto one = parse_ip(route.destination);
      if (net && !net->ip.v6 && net->prefix >= kLeastPrefix) out.push_back(*net);
      if (one && !one->v6) out.push_back({*one, 32});
    }
  }
  return out;
}

std::string numbered_address(const Subnet& net, int number) {
  Ip ip = net.ip;
  ip.bytes[3] = static_cast<uint8_t>(ip.bytes[3] + number);
  return to_text(ip);
}

std::string own_address_in(const EvidenceSet& evidence, const CableEnd& end,
                           const std::string& network) {
  const InterfaceEvidence* const interface =
      find_interface(evidence.hosts[end.host], end.interface);
  const auto net = parse_ip_subnet(network);
  if (interface == nullptr || !net) return {};
  for (const AddressEvidence& address : interface->addresses) {
    const auto ip = parse_ip(address.ip);
    if (ip && address.prefix == net->prefix && contains(*net, *ip)) {
      return fmt::format("{}/{}", address.ip, address.prefix);
    }
  }
  return {};
}

std::vector<Cidr> given_to(const EvidenceSet& evidence, const CableEnd& end) {
  std::vector<Cidr> out;
  const InterfaceEvidence* const interface =
      find_interface(evidence.hosts[end.host], end.interface);
  if (interface == nullptr) return out;
  for (const AddressEvidence& address : interface->addresses) {
    const auto ip = parse_ip(address.ip);
    if (ip && !ip->v6 && !ip->link_local()) out.push_back({address.ip, address.prefix});
  }
  return out;
}

std::string partner_of(const std::vector<Cidr>& own, const std::vector<Cidr>& other) {
  if (!own.empty() || other.size() != 1 || other[0].prefix != kPlannedPrefix) return {};
  const auto ip = parse_ip(other[0].ip);
  if (!ip) return {};
  const Subnet net = network_of(Subnet{*ip, kPlannedPrefix});
  const int number = ip->bytes[3] - net.ip.bytes[3];
  return number == 1 || number == 2
             ? fmt::format("{}/{}", numbered_address(net, 3 - number), kPlannedPrefix)
             : std::string();
}

const InterfaceEvidence* bridge_over(const EvidenceSet& evidence, const CableEnd& end) {
  const HostEvidence& host = evidence.hosts[end.host];
  const InterfaceEvidence* const port = find_interface(host, end.interface);
  if (port == nullptr || port->master.empty() || port->master_kind == "bond") return nullptr;
  return find_interface(host, port->master);
}

bool is_in_bond(const EvidenceSet& evidence, const CableEnd& end) {
  const InterfaceEvidence* const port = find_interface(evidence.hosts[end.host], end.interface);
  return port != nullptr && port->master_kind == "bond";
}

}  // namespace plumbline
