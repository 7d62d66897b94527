// Causes in the choice of the path: a slower network than there is, ends of a link with different
// MTUs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_rows.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

// A link between two hosts: interfaces with addresses in one subnet.
struct Common {
  const InterfaceEvidence *mine = nullptr, *theirs = nullptr;
  std::string my_ip, their_ip;
};

std::vector<Common> common_links(const HostEvidence& a, const HostEvidence& b) {
  std::vector<Common> out;
  for (const InterfaceEvidence& mine : a.interfaces) {
    for (const InterfaceEvidence& theirs : b.interfaces) {
      if (!is_usable(mine) || !is_usable(theirs)) continue;
      if (mine.kind == "loopback" || theirs.kind == "loopback") continue;
      for (const AddressEvidence& x : mine.addresses) {
        for (const AddressEvidence& y : theirs.addresses) {
          const bool joined = x.prefix > 0 && x.prefix == y.prefix && x.ip != y.ip &&
                              !is_link_local_ip(x.ip) && same_subnet(x.ip, y.ip, x.prefix);
          if (joined) out.push_back({&mine, &theirs, x.ip, y.ip});
        }
      }
    }
  }
  return out;
}

bool is_slow_kind(const InterfaceEvidence& i) { return i.kind == "wifi" || i.kind == "tunnel"; }
bool is_cable(const InterfaceEvidence& i) { return is_wired(i) && i.kind != "wifi"; }

std::optional<int64_t> speed_of(const InterfaceEvidence& a, const InterfaceEvidence& b) {
  if (!a.speed_bps || !b.speed_bps) return std::nullopt;
  return std::min(*a.speed_bps, *b.speed_bps);
}

// What a link is made for: that it negotiated less at the moment is link.speed's matter.
std::optional<int64_t> full_speed_of(const InterfaceEvidence& a, const InterfaceEvidence& b) {
  if (!a.speed_bps || !b.speed_bps) return std::nullopt;
  return std::max(
      {*a.speed_bps, *b.speed_bps, a.speed_max_bps.value_or(0), b.speed_max_bps.value_or(0)});
}

// Why the common link is better than the one in use; empty when it is not known to be.
std::string why_faster(const InterfaceEvidence& mine, const InterfaceEvidence& theirs,
                       const Common& other) {
  const bool slow = is_slow_kind(mine) || is_slow_kind(theirs);
  const bool cable = is_cable(*other.mine) && is_cable(*other.theirs);
  const auto used = full_speed_of(mine, theirs), unused = speed_of(*other.mine, *other.theirs);
  if (used && unused) {
    const double ratio = static_cast<double>(*unused) / static_cast<double>(*used);
    if (ratio < threshold(Threshold::kFasterLink)) return {};
    return fmt::format("{} instead of {}", describe_bit_rate(*unused), describe_bit_rate(*used));
  }
  if (slow && cable) return fmt::format("a cable instead of {}", mine.kind);
  return {};
}

// ---- MTU ----

int usual_mtu(const std::vector<const DataAddress*>& group) {
  std::map<int, int> counts;
  for (const DataAddress* member : group) ++counts[member->interface->mtu];
  int best = 0, most = 0;
  bool tie = false;
  for (const auto& [mtu, count] : counts) {
    tie = count == most || (count < most && tie);
    if (count > most) {
      most = count;
      best = mtu;
    }
  }
  return tie ? 0 : best;
}

// Large packets vanish on this pair, or a transfer does.
bool loses_large(const PairEvidence& pair) {
  if (!pair.mtu) return false;
  const MtuEvidence& mtu = *pair.mtu;
  return mtu.smallest_lost > 0 || (mtu.largest_delivered > 0 && mtu.interface_mtu > 0 &&
                                   mtu.largest_delivered < mtu.interface_mtu);
}
bool stalls(const PairEvidence& pair) {
  return pair.mtu && pair.mtu->transfer_bytes > 0 &&
         pair.mtu->transferred < pair.mtu->transfer_bytes;
}

// The other data addresses on the same link.
std::vector<const DataAddress*> on_link(const std::vector<DataAddress>& all,
                                        const DataAddress& mine) {
  std::vector<const DataAddress*> out;
  for (const DataAddress& other : all) {
    if (other.at.job != mine.at.job && same_subnet(mine.ip, other.ip, mine.prefix) &&
        !is_link_local_ip(mine.ip) && other.interface->mtu > 0) {
      out.push_back(&other);
    }
  }
  return out;
}

// The MTU that this end should have, when it is the odd one; 0 when it is not.
struct RightMtu {
  int mtu = 0;
  bool decided = false;  // false: either end may be the odd one, and the first is named
};

// What a link should have whose ends do not agree by majority: what the other links of the job
// have, else the standard of Ethernet; 0 when neither is in use on it.
int mtu_by_others(const std::vector<DataAddress>& all,
                  const std::vector<const DataAddress*>& group) {
  constexpr int kEthernet = 1500;
  std::vector<const DataAddress*> others;
  for (const DataAddress& data : all) {
    const bool here = std::any_of(group.begin(), group.end(), [&](const DataAddress* member) {
      return member->interface == data.interface;
    });
    if (!here && data.interface->mtu > 0) others.push_back(&data);
  }
  for (const int mtu : {usual_mtu(others), kEthernet}) {
    const bool in_use = std::any_of(group.begin(), group.end(), [&](const DataAddress* member) {
      return member->interface->mtu == mtu;
    });
    if (mtu > 0 && in_use) return mtu;
  }
  return 0;
}

RightMtu right_mtu(const std::vector<DataAddress>& all, const DataAddress& mine,
                   const std::vector<const DataAddress*>& peers) {
  std::vector<const DataAddress*> group = peers;
  group.push_back(&mine);
  const auto other = std::find_if(peers.begin(), peers.end(), [&](const DataAddress* p) {
    return p->interface->mtu != mine.interface->mtu;
  });
  if (other == peers.end()) return {};
  int usual = usual_mtu(group);
  if (usual == 0) usual = mtu_by_others(all, group);
  if (usual > 0) return {usual == mine.interface->mtu ? 0 : usual, true};
  const bool first = std::all_of(peers.begin(), peers.end(),
                                 [&](const DataAddress* p) { return mine.at.job < p->at.job; });
  return {first ? (*other)->interface->mtu : 0, false};
}

}  // namespace

namespace {

// The host that takes part in all of these pairs; empty when none does.
std::string shared_host(const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return {};
  for (const std::string& host : {pairs[0].first, pairs[0].second}) {
    const bool everywhere = std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first == host || pair.second == host;
    });
    if (everywhere) return host;
  }
  return {};
}

}  // namespace

std::vector<Candidate> propose_slower_path(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  std::vector<std::pair<std::string, std::string>> slow;
  const auto all = data_addresses(evidence);
  for (const PairEvidence& pair : evidence.pairs) {
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (!between_machines(pair) || from == nullptr || to == nullptr) continue;
    if (to->at.job < from->at.job) continue;  // once for both directions
    for (const Common& other : common_links(*from->at.host, *to->at.host)) {
      if (other.mine == from->interface || other.theirs == to->interface) continue;
      const std::string why = why_faster(*from->interface, *to->interface, other);
      if (why.empty()) continue;
      slow.push_back({pair.from, pair.to});
      out.push_back(
          Proposal("path.slower_used", Severity::kWarn, pair.from)
              .peer(pair.to)
              .see(pair.from, key_of({"route", pair.from, pair.to}),
                   fmt::format("{} and {} are used, though {} and {} join the two as well: {}",
                               from->interface->name, to->interface->name, other.mine->name,
                               other.theirs->name, why))
              .remedy(fmt::format("# name the faster addresses in the host file: {} for {}, {} for "
                                  "{}",
                                  other.my_ip, pair.from, other.their_ip, pair.to))
              .take(checks));
      break;
    }
  }
  // Several pairs are one mistake of the file: of the host that they share, else of the first.
  const std::string shared = shared_host(slow);
  for (Candidate& candidate : out) {
    if (slow.size() < 2) break;
    candidate.finding.host = shared.empty() ? slow[0].first : shared;
    candidate.finding.peer.clear();
  }
  return out;
}

std::vector<Candidate> propose_mtu(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  for (const DataAddress& mine : all) {
    if (!is_usable(*mine.interface) || mine.interface->mtu <= 0) continue;
    const auto peers = on_link(all, mine);
    const RightMtu right = right_mtu(all, mine, peers);
    if (right.mtu == 0) continue;
    const std::string& name = mine.at.job->name;
    std::set<std::string> broken;
    bool fails = false;
    std::vector<std::string> others;
    for (const DataAddress* peer : peers) {
      const std::string& their_name = peer->at.job->name;
      if (peer->interface->mtu == mine.interface->mtu) continue;
      others.push_back(
          fmt::format("{} on {} of {}", peer->interface->mtu, peer->interface->name, their_name));
      for (const PairEvidence& pair : evidence.pairs) {
        const bool this_pair = (pair.from == name && pair.to == their_name) ||
                               (pair.from == their_name && pair.to == name);
        if (!this_pair) continue;
        if (loses_large(pair) || stalls(pair)) broken.insert(pair_key(pair.from, pair.to));
        fails = fails || stalls(pair);
      }
    }
    Proposal proposal("mtu.mismatch", fails ? Severity::kFail : Severity::kWarn, name);
    // Of a host with several cables the peer tells which one it is.
    const bool cable = mine.at.job->data.size() > 1 || !right.decided;
    if (cable && peers.size() == 1) proposal.peer(peers[0]->at.job->name);
    out.push_back(
        proposal
            .see(name, key_of({"link", name, {}, {}, mine.interface->name}),
                 fmt::format("{} has an MTU of {}, the other ends of its link {}",
                             mine.interface->name, mine.interface->mtu, join_words(others)))
            .remedy(remedy_set_mtu(mine.at.host->system, mine.interface->name, right.mtu))
            .breaks(broken)
            .take(checks));
  }
  return out;
}

}  // namespace plumbline
