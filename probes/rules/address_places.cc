#include "probes/rules/address_places.h"

#include <algorithm>

#include "core/ranges.h"

namespace plumbline {

int AddressPlaces::likely_prefix() const {
  if (wanted_.prefix > 0) return wanted_.prefix;
  for (const DataAddress& peer : data_addresses(evidence_)) {
    if (same_subnet(peer.ip, wanted_.ip, peer.prefix)) return peer.prefix;
  }
  return customary_prefix(wanted_.ip);
}

bool AddressPlaces::carries_data(const InterfaceEvidence& interface) const {
  return any_of(job_.data, [&](const std::string& text) {
    return find_address(interface, parse_cidr(text).ip) != nullptr;
  });
}

bool AddressPlaces::is_shared_network(const AddressEvidence& address) const {
  for (const HostView& other : host_views(evidence_)) {
    if (other.job->name == job_.name) continue;
    for (const InterfaceEvidence& theirs : other.host->interfaces) {
      for (const AddressEvidence& known : theirs.addresses) {
        const bool near = !is_link_local_ip(known.ip) && known.prefix > 0 &&
                          same_subnet(known.ip, address.ip, std::max(known.prefix, address.prefix));
        if (near) return true;
      }
    }
  }
  return false;
}

std::vector<const AddressEvidence*> AddressPlaces::family_addresses(
    const InterfaceEvidence& interface) const {
  std::vector<const AddressEvidence*> out;
  for (const AddressEvidence& address : interface.addresses) {
    if (same_family(address.ip, wanted_.ip) && !is_link_local_ip(address.ip)) {
      out.push_back(&address);
    }
  }
  return out;
}

bool AddressPlaces::shares_interface_on_peers(const AddressEvidence& address) const {
  for (const DataAddress& peer : data_addresses(evidence_)) {
    for (const AddressEvidence& other : peer.interface->addresses) {
      if (other.ip != peer.ip && other.prefix > 0 &&
          same_subnet(other.ip, address.ip, std::max(other.prefix, address.prefix))) {
        return true;
      }
    }
  }
  return false;
}

bool AddressPlaces::leads_to_peers(const InterfaceEvidence& interface) const {
  const auto all = data_addresses(evidence_);
  const auto& known = host_.neighbours;
  return any_of(known, [&](const NeighbourEvidence& entry) {
    return entry.dev == interface.name && !entry.mac.empty() && entry.state != "PERMANENT" &&
           any_of(all, [&](const DataAddress& peer) {
             return peer.at.job->name != job_.name && peer.interface->mac == entry.mac;
           });
  });
}

const InterfaceEvidence* AddressPlaces::candidate() const {
  const InterfaceEvidence* best = nullptr;
  int best_worth = 0;
  for (const InterfaceEvidence& interface : host_.interfaces) {
    const bool lower = any_of(host_.interfaces, [&](const InterfaceEvidence& other) {
      return other.parent == interface.name;
    });
    if (!is_usable(interface) || !is_wired(interface) || !interface.master.empty() || lower) {
      continue;
    }
    if (carries_data(interface)) continue;
    const auto known = family_addresses(interface);
    // Addresses of both families tell which network a card belongs to: a control network over IPv4
    // is no place for IPv6 data.
    const auto& addresses = interface.addresses;
    const bool shared = any_of(addresses, [&](const AddressEvidence& a) {
      return !is_link_local_ip(a.ip) && is_shared_network(a) && !shares_interface_on_peers(a);
    });
    int worth = shared ? 0 : known.empty() ? 3 : interface.kind == "bridge" ? 1 : 2;
    if (worth > 0 && leads_to_peers(interface)) worth += 3;
    if (worth > best_worth) {
      best = &interface;
      best_worth = worth;
    }
  }
  return best;
}

std::string AddressPlaces::list_nics() const {
  std::vector<std::string> words;
  for (const InterfaceEvidence& interface : host_.interfaces) words.push_back(interface.name);
  return join_words(words);
}

std::vector<const InterfaceEvidence*> AddressPlaces::switched_off() const {
  std::vector<const InterfaceEvidence*> down;
  for (const InterfaceEvidence& interface : host_.interfaces) {
    if (!interface.up && is_wired(interface) && interface.master.empty() &&
        !carries_data(interface)) {
      down.push_back(&interface);
    }
  }
  return down;
}

}  // namespace plumbline
