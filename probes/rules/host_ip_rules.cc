// Causes in the addresses that are there: prefix lengths that differ, one address on two machines,
// a second interface in the data subnet.
#include <fmt/format.h>

#include <algorithm>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// ---- prefix lengths ----

// Addresses of other hosts that lie in the same network by at least one of the two prefixes.
std::vector<const DataAddress*> in_reach(const std::vector<DataAddress>& all,
                                         const DataAddress& mine) {
  std::vector<const DataAddress*> out;
  for (const DataAddress& other : all) {
    const bool self = other.at.job == mine.at.job;
    if (!self && same_subnet(mine.ip, other.ip, std::min(mine.prefix, other.prefix))) {
      out.push_back(&other);
    }
  }
  return out;
}

// The most frequent prefix length of these; 0 when two are equally frequent.
int usual_prefix(const std::vector<const DataAddress*>& group) {
  return usual_value(group, [](const DataAddress& data) { return data.prefix; });
}

// What this address should have, when it is the one that is wrong; 0 when it is not.
int right_prefix(const DataAddress& mine, const std::vector<const DataAddress*>& peers) {
  std::vector<const DataAddress*> group = peers;
  group.push_back(&mine);
  const bool all_equal =
      all_of(peers, [&](const DataAddress* p) { return p->prefix == mine.prefix; });
  if (all_equal) return 0;
  if (mine.file_prefix > 0 && mine.file_prefix != mine.prefix) return mine.file_prefix;
  // Somebody else contradicts the host file: it is their fault.
  if (any_of(peers, [&](const DataAddress* p) {
        return p->file_prefix > 0 && p->file_prefix != p->prefix;
      })) {
    return 0;
  }
  const int usual = usual_prefix(group);
  if (usual > 0) return usual == mine.prefix ? 0 : usual;
  // No majority: the first in the host file, with the prefix of the next that differs.
  const DataAddress* first = &mine;
  for (const DataAddress* peer : peers) {
    if (peer->at.job < first->at.job) first = peer;
  }
  if (first != &mine) return 0;
  const auto other = std::find_if(peers.begin(), peers.end(),
                                  [&](const DataAddress* p) { return p->prefix != mine.prefix; });
  return (*other)->prefix;
}

// All hosts agree, and only the host file says something else.
void propose_file_prefix(const std::vector<DataAddress>& all, const Checks& checks,
                         std::vector<Candidate>& out) {
  for (const DataAddress& mine : all) {
    if (mine.file_prefix == 0 || mine.file_prefix == mine.prefix) continue;
    const auto peers = in_reach(all, mine);
    const bool agree =
        all_of(peers, [&](const DataAddress* p) { return p->prefix == mine.prefix; });
    if (!agree) continue;
    const std::string& name = mine.at.job->name;
    out.push_back(Proposal("ip.mask_mismatch", Severity::kWarn, name)
                      .see(name, ip_key(mine, " mask"),
                           fmt::format("{} has {}/{}, {} says /{}", mine.interface->name, mine.ip,
                                       mine.prefix, mine.at.job->where, mine.file_prefix))
                      .remedy(fmt::format("write {}/{} for {} at {}", mine.ip, mine.prefix, name,
                                          mine.at.job->where))
                      .take(checks));
  }
}

// With the wrong prefix the peer is outside, or looks like the network's own or broadcast address.
bool cut_off(const DataAddress& a, const DataAddress& b) {
  const auto outside = [](const DataAddress& from, const DataAddress& to) {
    return !same_subnet(from.ip, to.ip, from.prefix) || is_edge_of_network(to.ip, from.prefix);
  };
  return outside(a, b) || outside(b, a);
}

// ---- overlap ----

bool same_device(const HostEvidence& host, const InterfaceEvidence& a, const InterfaceEvidence& b) {
  const auto related = [&](const InterfaceEvidence& x, const InterfaceEvidence& y) {
    return x.master == y.name || (x.parent == y.name && x.kind != "virtual");
  };
  return &a == &b || related(a, b) || related(b, a) || find_interface(host, a.name) == nullptr;
}

// Pairs of this address whose packets leave through the other interface and get nowhere.
OrderedPairs led_astray(const EvidenceSet& evidence, const DataAddress& data,
                        const std::string& other) {
  OrderedPairs out;
  const std::string& name = data.at.job->name;
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from != name || pair.from_ip != data.ip) continue;
    const bool astray =
        any_of(pair.routes, [&](const RouteLookup& lookup) { return lookup.dev == other; });
    if (!astray || reaches(evidence, name, pair.to) == true) continue;
    out.merge(both_ways(name, pair.to));
  }
  return out;
}

bool sends_all_by(const EvidenceSet& evidence, const DataAddress& data) {
  return all_of(evidence.pairs, [&](const PairEvidence& pair) {
    const RouteLookup* lookup = route_lookup(pair);
    return pair.from != data.at.job->name || pair.from_ip != data.ip || lookup == nullptr ||
           lookup->dev.empty() || lookup->dev == data.interface->name;
  });
}

// A wider network of a VPN or a bridge for containers around the data subnet does no harm: the
// longer prefix wins.
bool harmless_cover(const EvidenceSet& evidence, const DataAddress& data,
                    const InterfaceEvidence& other, const AddressEvidence& second) {
  if (second.prefix == address_bits(second.ip)) return true;  // covers itself alone
  const bool apart = other.kind == "tunnel" || other.kind == "bridge" || other.kind == "virtual";
  return second.prefix < data.prefix && apart && sends_all_by(evidence, data);
}

}  // namespace

Candidates propose_masks(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  propose_file_prefix(all, checks, out);
  for (const DataAddress& mine : all) {
    if (is_link_local_ip(mine.ip)) continue;
    const auto peers = in_reach(all, mine);
    const int right = right_prefix(mine, peers);
    if (right == 0) continue;
    const std::string& name = mine.at.job->name;
    OrderedPairs broken;
    std::vector<std::string> others;
    for (const DataAddress* peer : peers) {
      const std::string& their_name = peer->at.job->name;
      if (peer->prefix != mine.prefix) {
        others.push_back(fmt::format("{}/{} on {}", peer->ip, peer->prefix, their_name));
      }
      if (!cut_off(mine, *peer)) continue;
      if (reaches(evidence, name, their_name) == true) continue;
      broken.merge(both_ways(name, their_name));
    }
    Proposal proposal("ip.mask_mismatch", broken.empty() ? Severity::kWarn : Severity::kFail, name);
    proposal.see(name, ip_key(mine, " mask"),
                 fmt::format("{} has {}/{}{}", mine.interface->name, mine.ip, mine.prefix,
                             mine.file_prefix > 0 && mine.file_prefix != mine.prefix
                                 ? fmt::format(", the host file says /{}", mine.file_prefix)
                                 : std::string()));
    if (!others.empty()) proposal.see(name, "", "its peers have " + join_words(others));
    out.push_back(proposal
                      .remedy(remedy_replace_prefix(mine.at.host->system, *mine.interface, mine.ip,
                                                    mine.prefix, right))
                      .breaks(broken)
                      .take(checks));
  }
  return out;
}

Candidates propose_overlaps(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  for (const DataAddress& data : all) {
    if (is_link_local_ip(data.ip) || data.prefix <= 0) continue;
    for (const InterfaceEvidence& other : data.at.host->interfaces) {
      if (!other.up || other.kind == "loopback") continue;
      if (same_device(*data.at.host, *data.interface, other)) continue;
      for (const AddressEvidence& second : other.addresses) {
        const bool covers_it = second.prefix > 0 && !is_link_local_ip(second.ip) &&
                               overlap({data.ip, data.prefix}, {second.ip, second.prefix});
        if (!covers_it || harmless_cover(evidence, data, other, second)) continue;
        const std::string& name = data.at.job->name;
        const bool both_wanted = find_data(all, name, second.ip) != nullptr;
        // Of two data addresses in one subnet the later one is reported.
        if (both_wanted && &other < data.interface) continue;
        const auto broken = led_astray(evidence, data, other.name);
        out.push_back(
            Proposal("ip.overlap", broken.empty() ? Severity::kWarn : Severity::kFail, name)
                .see(name, ip_key(data, " " + other.name),
                     fmt::format("{}/{} on {} and {}/{} on {} cover the same addresses: packets "
                                 "may leave through either",
                                 data.ip, data.prefix, data.interface->name, second.ip,
                                 second.prefix, other.name))
                .remedy(both_wanted ? Remedy(fmt::format(
                                          "give {} or {} an address of another subnet, here "
                                          "and at {}",
                                          data.interface->name, other.name, data.at.job->where))
                                    : remedy_delete_address(data.at.host->system, second.ip,
                                                            second.prefix, other.name)
                                          .remark("or give it an address of another subnet"))
                .breaks(broken)
                .take(checks));
      }
    }
  }
  return out;
}

}  // namespace plumbline
