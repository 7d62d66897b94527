// The interfaces of a host as places for a data address that it lacks: which of them should have
// had it, and what else is there. Pure functions of the evidence; keeps references to it.
#pragma once

#include <string>
#include <vector>

#include "probes/rules/host_common.h"

namespace plumbline {

class AddressPlaces {
 public:
  AddressPlaces(const EvidenceSet& evidence, const HostView& view, const Cidr& wanted)
      : evidence_(evidence), job_(*view.job), host_(*view.host), wanted_(wanted) {}

  // Prefix length of the address: as written, as a peer's in the same subnet, or the usual one.
  int likely_prefix() const;
  // The interface that should have had the address: the one on which peers were seen, then one
  // without any address, then one whose address nobody shares; nullptr when there is none.
  const InterfaceEvidence* candidate() const;
  // Those that could carry it and are switched off.
  std::vector<const InterfaceEvidence*> switched_off() const;
  std::string list_nics() const;  // names of all of them, in words

  // One of the host's data addresses is on it.
  bool carries_data(const InterfaceEvidence& interface) const;
  // Hardware addresses of peers' data interfaces were seen on it.
  bool leads_to_peers(const InterfaceEvidence& interface) const;
  // Another host has an address in the same network: it is one that belongs here.
  bool is_shared_network(const AddressEvidence& address) const;

 private:
  // Of the same family as the address that is wanted.
  std::vector<const AddressEvidence*> family_addresses(const InterfaceEvidence& interface) const;
  // On a peer one interface carries both its data address and an address of this network.
  bool shares_interface_on_peers(const AddressEvidence& address) const;

  const EvidenceSet& evidence_;
  const JobHost& job_;
  const HostEvidence& host_;
  const Cidr& wanted_;
};

}  // namespace plumbline
