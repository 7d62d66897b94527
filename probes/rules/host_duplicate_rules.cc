// One address, two owners.
#include <fmt/format.h>

#include <map>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// Who, other than its owner, has this data address.
struct Usurper {
  const HostEvidence* host = nullptr;  // null: a machine that is no host of the job
  const JobHost* job = nullptr;
  const InterfaceEvidence* interface = nullptr;
  std::string mac;
};

// The system believes it because it was told so; nobody has answered with it.
bool is_static(const NeighbourProbe& probe, const std::string& mac) {
  return probe.kernel_state == "PERMANENT" && probe.kernel_mac == mac && probe.method != "arp";
}

std::vector<Usurper> usurpers_of(const EvidenceSet& evidence, const HostView& owner,
                                 const std::string& ip) {
  std::vector<Usurper> out;
  for (const HostView& other : host_views(evidence)) {
    if (other.job == owner.job) continue;
    const bool by_file =
        is_in(other.job->data, ip) ||
        any_of(other.job->data, [&](const auto& text) { return parse_cidr(text).ip == ip; });
    for (const InterfaceEvidence& interface : other.host->interfaces) {
      const bool here = find_address(interface, ip) != nullptr && interface.kind != "loopback";
      if (here && interface.up && !by_file) {
        out.push_back({other.host, other.job, &interface, interface.mac});
      }
    }
  }
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.to_ip != ip || !pair.neighbour || !pair.neighbour->on_link) continue;
    for (const std::string& mac : pair.neighbour->macs) {
      if (has_mac(*owner.host, mac) || is_static(*pair.neighbour, mac)) continue;
      const bool known = any_of(out, [&](const Usurper& u) {
        return u.mac == mac || (u.host != nullptr && has_mac(*u.host, mac));
      });
      // Another host of the job that answers without having the address does so for the owner.
      const auto& hosts = evidence.hosts;
      const bool proxy = any_of(hosts, [&](const HostEvidence& h) { return has_mac(h, mac); });
      if (!known && !proxy) out.push_back({nullptr, nullptr, nullptr, mac});
    }
  }
  return out;
}

Candidate duplicate_on(const EvidenceSet& evidence, const Checks& checks, const HostView& owner,
                       const std::string& ip, const Usurper& usurper) {
  const std::string& name = owner.job->name;
  const std::string key = key_of({"ip", name, {}, {}, ip + " duplicate"});
  const InterfaceEvidence* own = interface_of(*owner.host, ip);
  const std::string own_text =
      own == nullptr ? fmt::format("{} belongs to {}", ip, name)
                     : fmt::format("{} is on {} of {} ({})", ip, own->name, name, own->mac);
  // What the second owner's peers reach is a matter of luck, so all pairs of the address count.
  const auto pairs = pairs_with_ip(evidence, name, ip);
  if (usurper.host == nullptr) {
    return Proposal("ip.duplicate", Severity::kFail, name)
        .confidence(0.95)
        .see(name, key, own_text)
        .see(name, key,
             fmt::format("a machine with the hardware address {} answers for it too", usurper.mac))
        .remedy(fmt::format("give the machine with the hardware address {} another address (or {}, "
                            "and correct {})",
                            usurper.mac, name, owner.job->where))
        .breaks(pairs)
        .take(checks);
  }
  const AddressEvidence* wrong = find_address(*usurper.interface, ip);
  Remedy remedy = remedy_delete_address(
      usurper.host->system, ip, wrong != nullptr ? wrong->prefix : 24, usurper.interface->name);
  OrderedPairs broken = pairs;
  for (const Cidr& theirs : data_of(*usurper.job)) {  // its own address had to go for this one
    if (interface_of(*usurper.host, theirs.ip) != nullptr) continue;
    remedy = Remedy(remedy_add_address(usurper.host->system, theirs.ip,
                                       theirs.prefix > 0 ? theirs.prefix : wrong->prefix,
                                       usurper.interface->name))
                 .then(remedy);
    broken.merge(pairs_with_ip(evidence, usurper.job->name, theirs.ip));
  }
  return Proposal("ip.duplicate", Severity::kFail, usurper.job->name)
      .peer(name)
      .see(usurper.job->name, key_of({"ip", usurper.job->name, {}, {}, ip + " foreign"}),
           fmt::format("{} on {} ({}) is the data address of {}", ip, usurper.interface->name,
                       usurper.interface->mac, name))
      .see(name, key, own_text)
      .remedy(remedy)
      .breaks(broken)
      .take(checks);
}

// The host file gives one address to two machines.
void propose_file_duplicates(const EvidenceSet& evidence, const Checks& checks,
                             std::vector<Candidate>& out) {
  const auto& hosts = evidence.job.hosts;
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (size_t k = i + 1; k < hosts.size(); ++k) {
      if (hosts[i].reached_by == "local" && hosts[k].reached_by == "local") continue;
      for (const Cidr& mine : data_of(hosts[i])) {
        for (const Cidr& theirs : data_of(hosts[k])) {
          if (mine.ip != theirs.ip || is_loopback_ip(mine.ip) || is_link_local_ip(mine.ip))
            continue;
          auto pairs = pairs_with_ip(evidence, hosts[i].name, mine.ip);
          pairs.merge(pairs_with_ip(evidence, hosts[k].name, mine.ip));
          out.push_back(Proposal("ip.duplicate", Severity::kFail, hosts[i].name)
                            .peer(hosts[k].name)
                            .see(hosts[i].name,
                                 key_of({"ip", hosts[i].name, {}, {}, mine.ip + " duplicate"}),
                                 fmt::format("{} stands at {} and at {}", mine.ip, hosts[i].where,
                                             hosts[k].where))
                            .remedy(fmt::format("give each of them its own address: {} and {}",
                                                hosts[i].where, hosts[k].where))
                            .breaks(pairs)
                            .proven()
                            .take(checks));
        }
      }
    }
  }
}

// The kernel itself found the address on another machine and does not use it (RFC 4862).
void propose_kernel_duplicates(const EvidenceSet& evidence, const Checks& checks,
                               std::vector<Candidate>& out) {
  for (const DataAddress& data : data_addresses(evidence)) {
    const AddressEvidence* own = find_address(*data.interface, data.ip);
    const std::string& name = data.at.job->name;
    if (!is_in(own->flags, "dadfailed")) continue;
    if (!usurpers_of(evidence, data.at, data.ip).empty()) continue;
    out.push_back(
        Proposal("ip.duplicate", Severity::kFail, name)
            .see(name, ip_key(data),
                 fmt::format("the system found {} on another machine and does not use it", data.ip))
            .remedy(fmt::format("take {} off the other machine, then on {}: ip address "
                                "del {}/{} dev {} and add it again",
                                data.ip, name, data.ip, data.prefix, data.interface->name))
            .breaks(pairs_with_ip(evidence, name, data.ip))
            .take(checks));
  }
}

}  // namespace

Candidates propose_duplicates(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  propose_file_duplicates(evidence, checks, out);
  propose_kernel_duplicates(evidence, checks, out);
  for (const HostView& owner : host_views(evidence)) {
    for (const Cidr& data : data_of(*owner.job)) {
      if (is_loopback_ip(data.ip) || is_link_local_ip(data.ip)) continue;
      for (const Usurper& usurper : usurpers_of(evidence, owner, data.ip)) {
        // A stranger that answers for an address whose owner is gone is no second owner.
        if (usurper.host == nullptr && interface_of(*owner.host, data.ip) == nullptr) continue;
        out.push_back(duplicate_on(evidence, checks, owner, data.ip, usurper));
      }
    }
  }
  return out;
}

}  // namespace plumbline
