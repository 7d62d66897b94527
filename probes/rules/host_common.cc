#include "probes/rules/host_common.h"

#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "core/text.h"

namespace plumbline {
namespace {

bool same_mac(const std::string& a, const std::string& b) {
  return !a.empty() && lower_case(a) == lower_case(b);
}

}  // namespace

bool stands_on(const HostEvidence& host, const InterfaceEvidence& upper, const std::string& lower,
               int depth) {
  if (upper.name == lower) return true;
  if (depth > 4) return false;
  if (!upper.parent.empty()) {
    const InterfaceEvidence* parent = find_interface(host, upper.parent);
    if (parent != nullptr && stands_on(host, *parent, lower, depth + 1)) return true;
  }
  return any_of(host.interfaces, [&](const InterfaceEvidence& port) {
    return port.master == upper.name && stands_on(host, port, lower, depth + 1);
  });
}

Proposal::Proposal(const std::string& cause, Severity severity, const std::string& host) {
  candidate_.finding.cause = cause;
  candidate_.finding.outcome = severity;
  candidate_.finding.host = host;
}
Proposal& Proposal::peer(const std::string& name) {
  candidate_.finding.peer = name;
  return *this;
}
Proposal& Proposal::ports(std::vector<int> list) {
  sort_unique(list);
  if (list.size() == 1) candidate_.finding.port = list[0];
  candidate_.finding.ports = std::move(list);
  return *this;
}
Proposal& Proposal::confidence(double value) {
  candidate_.finding.confidence = value;
  return *this;
}
Proposal& Proposal::see(const std::string& host, const std::string& check,
                        const std::string& text) {
  candidate_.finding.evidence.push_back({host, check, text});
  return *this;
}
Proposal& Proposal::remedy(const Remedy& remedy) {
  candidate_.finding.remedy = remedy;
  return *this;
}
Proposal& Proposal::breaks(const OrderedPairs& pairs) {
  candidate_.breaks.insert(pairs.begin(), pairs.end());
  return *this;
}
Proposal& Proposal::breaks_both(const std::string& a, const std::string& b) {
  candidate_.breaks.merge(both_ways(a, b));
  return *this;
}
Proposal& Proposal::proven() {
  candidate_.proven = true;
  return *this;
}

Candidate Proposal::take(const Checks& checks) {
  std::vector<std::string>& explains = candidate_.finding.explains;
  for (const Check& check : checks) {
    const bool sound =
        check.outcome == CheckOutcome::kPass || check.outcome == CheckOutcome::kSkipped;
    if (sound) continue;
    const bool shown = any_of(candidate_.finding.evidence,
                              [&](const Evidence& e) { return e.check == check.key; });
    const bool broken =
        !check.peer.empty() && candidate_.breaks.count({check.host, check.peer}) > 0;
    if (shown || broken) explains.push_back(check.key);
  }
  return std::move(candidate_);
}

std::string own_ip(const PairEvidence& pair, const std::string& host) {
  if (pair.from == host) return pair.from_ip;
  return pair.to == host ? pair.to_ip : std::string();
}

std::string other_end(const PairEvidence& pair, const std::string& host) {
  return pair.from == host ? pair.to : pair.from;
}

OrderedPairs pairs_with_ip(const EvidenceSet& evidence, const std::string& host,
                           const std::string& ip) {
  OrderedPairs out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!ip.empty() && own_ip(pair, host) == ip) out.insert({pair.from, pair.to});
  }
  return out;
}

OrderedPairs pairs_over(const EvidenceSet& evidence, const HostEvidence& host,
                        const std::string& interface) {
  OrderedPairs out;
  const JobHost* job = find_job_host(evidence, host.name);
  for (const PairEvidence& pair : evidence.pairs) {
    const std::string ip = own_ip(pair, host.name);
    if (ip.empty() || job == nullptr) continue;
    const InterfaceEvidence* carrier = data_interface(*job, host, ip);
    if (carrier != nullptr && stands_on(host, *carrier, interface)) {
      out.insert({pair.from, pair.to});
    }
  }
  return out;
}

OrderedPairs not_working(const EvidenceSet& evidence, const OrderedPairs& pairs) {
  OrderedPairs out;
  for (const PairEvidence& pair : evidence.pairs) {
    const OrderedPair key(pair.from, pair.to);
    if (pairs.count(key) > 0 && reaches(pair) != true) out.insert(key);
  }
  return out;
}

std::vector<HostView> host_views(const EvidenceSet& evidence) {
  std::vector<HostView> out;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr || !has_facts(*host) || !same_as_earlier(evidence, job).empty()) continue;
    out.push_back({&job, host});
  }
  return out;
}

std::vector<const InterfaceEvidence*> carriers(const HostView& view) {
  std::vector<const InterfaceEvidence*> out;
  const auto add = [&](const InterfaceEvidence* interface) {
    if (interface != nullptr && !is_in(out, interface)) {
      out.push_back(interface);
    }
  };
  for (const Cidr& data : data_of(*view.job)) add(data_interface(*view.job, *view.host, data.ip));
  add(find_interface(*view.host, view.job->interface));
  return out;
}

std::vector<const InterfaceEvidence*> unbridged_ports(const HostEvidence& host) {
  std::vector<const InterfaceEvidence*> out;
  for (const InterfaceEvidence& interface : host.interfaces) {
    const bool kind = interface.kind == "ethernet" || interface.kind == "veth" ||
                      interface.kind == "thunderbolt" || interface.kind == "bond" ||
                      interface.kind == "vlan";
    const bool bare = all_of(interface.addresses,
                             [](const AddressEvidence& a) { return is_link_local_ip(a.ip); });
    const bool lower = any_of(host.interfaces, [&](const InterfaceEvidence& other) {
      return other.parent == interface.name;
    });
    if (kind && bare && !lower && is_usable(interface) && interface.master.empty()) {
      out.push_back(&interface);
    }
  }
  return out;
}

std::vector<DataAddress> data_addresses(const EvidenceSet& evidence) {
  std::vector<DataAddress> out;
  for (const HostView& view : host_views(evidence)) {
    for (const Cidr& wanted : data_of(*view.job)) {
      const InterfaceEvidence* carrier = interface_of(*view.host, wanted.ip);
      const AddressEvidence* own = carrier == nullptr ? nullptr : find_address(*carrier, wanted.ip);
      if (own == nullptr || is_loopback_ip(wanted.ip)) continue;
      out.push_back({view, wanted.ip, wanted.prefix, own->prefix, carrier});
    }
  }
  return out;
}

const DataAddress* find_data(const std::vector<DataAddress>& all, const std::string& host,
                             const std::string& ip) {
  return find_where(all,
                    [&](const DataAddress& d) { return d.at.job->name == host && d.ip == ip; });
}

int usual_value(const std::vector<const DataAddress*>& group,
                const std::function<int(const DataAddress&)>& value_of) {
  std::map<int, int> counts;
  for (const DataAddress* member : group) ++counts[value_of(*member)];
  int best = 0, most = 0;
  bool tie = false;
  for (const auto& [value, count] : counts) {
    tie = count == most || (count < most && tie);
    if (count > most) {
      most = count;
      best = value;
    }
  }
  return tie ? 0 : best;
}

bool between_machines(const PairEvidence& pair) {
  return !pair.same_machine && !pair.from_ip.empty() && !pair.to_ip.empty() &&
         !is_loopback_ip(pair.from_ip) && !is_loopback_ip(pair.to_ip);
}

bool has_mac(const HostEvidence& host, const std::string& mac) {
  return any_of(host.interfaces, [&](const InterfaceEvidence& i) { return same_mac(i.mac, mac); });
}

std::string ip_key(const DataAddress& data, const std::string& what) {
  return key_of({"ip", data.at.job->name, {}, {}, data.ip + what});
}

}  // namespace plumbline
