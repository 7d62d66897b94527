// What the rules about hosts share: building a proposal step by step, and which pairs depend on an
// address or an interface. Pure functions, thread-safe.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/rules/rules.h"

namespace plumbline {

// A candidate in the making. take() adds what it explains: the checks shown as evidence, and all
// that did not pass on the pairs that it breaks.
class Proposal {
 public:
  Proposal(const std::string& cause, Severity severity, const std::string& host);
  Proposal& peer(const std::string& name);
  Proposal& ports(std::vector<int> list);
  Proposal& confidence(double value);
  // One line of evidence: what was seen on `host`, and the check that says so (may be empty).
  Proposal& see(const std::string& host, const std::string& check, const std::string& text);
  Proposal& remedy(const Remedy& remedy);
  Proposal& breaks(const OrderedPairs& pairs);
  Proposal& breaks_both(const std::string& a, const std::string& b);
  // Stands by itself, whatever else is wrong.
  Proposal& proven();
  Candidate take(const Checks& checks);

  bool breaks_something() const { return !candidate_.breaks.empty(); }

 private:
  Candidate candidate_;
};

// The address of this host in a pair that it takes part in; empty when it does not.
std::string own_ip(const PairEvidence& pair, const std::string& host);
std::string other_end(const PairEvidence& pair, const std::string& host);
// Ordered pairs in which this host uses this address.
OrderedPairs pairs_with_ip(const EvidenceSet& evidence, const std::string& host,
                           const std::string& ip);
// The interface itself, or one below it: a member of the bond or bridge, a parent of the VLAN.
bool stands_on(const HostEvidence& host, const InterfaceEvidence& upper, const std::string& lower,
               int depth = 0);
// Ordered pairs whose traffic uses this interface of the host: it carries the address, or lies
// below the interface that does (member of a bond or bridge, parent of a VLAN).
OrderedPairs pairs_over(const EvidenceSet& evidence, const HostEvidence& host,
                        const std::string& interface);
// Of these, the ones on which nothing is known to come back.
OrderedPairs not_working(const EvidenceSet& evidence, const OrderedPairs& pairs);

// Hosts that judge for themselves, with their entry in the file: those with facts, each machine
// once.
struct HostView {
  const JobHost* job = nullptr;
  const HostEvidence* host = nullptr;
};
std::vector<HostView> host_views(const EvidenceSet& evidence);

// Interfaces that data of this host should use: those that have a data address, and the one that
// the host file names.
std::vector<const InterfaceEvidence*> carriers(const HostView& view);
// Ports that could belong to a bridge and belong nowhere: up, with signal, without an address.
std::vector<const InterfaceEvidence*> unbridged_ports(const HostEvidence& host);

// Data addresses that are really there.
struct DataAddress {
  HostView at;
  std::string ip;
  int file_prefix = 0;  // as in the host file; 0 = not given
  int prefix = 0;       // on the interface
  const InterfaceEvidence* interface = nullptr;
};
// Key of the check of this address.
std::string ip_key(const DataAddress& data, const std::string& what = "");
std::vector<DataAddress> data_addresses(const EvidenceSet& evidence);
const DataAddress* find_data(const std::vector<DataAddress>& all, const std::string& host,
                             const std::string& ip);

// The value that most of these have; 0 when two are equally frequent.
int usual_value(const std::vector<const DataAddress*>& group,
                const std::function<int(const DataAddress&)>& value_of);

// The two ends are the same machine, or one of them is loopback: nothing between machines.
bool between_machines(const PairEvidence& pair);
inline bool same_family(const std::string& a, const std::string& b) { return is_v6(a) == is_v6(b); }
bool has_mac(const HostEvidence& host, const std::string& mac);  // case does not matter

}  // namespace plumbline
