// mtu.mismatch: ends of a link with different MTUs.
#include <fmt/format.h>

#include <algorithm>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// The MTU that most of these have; 0 on a tie.
int usual_mtu(const std::vector<const DataAddress*>& group) {
  return usual_value(group, [](const DataAddress& data) { return data.interface->mtu; });
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
    const bool here = any_of(
        group, [&](const DataAddress* member) { return member->interface == data.interface; });
    if (!here && data.interface->mtu > 0) others.push_back(&data);
  }
  for (const int mtu : {usual_mtu(others), kEthernet}) {
    const bool in_use =
        any_of(group, [&](const DataAddress* member) { return member->interface->mtu == mtu; });
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
  const bool first = all_of(peers, [&](const DataAddress* p) { return mine.at.job < p->at.job; });
  return {first ? (*other)->interface->mtu : 0, false};
}

// The other end of a host's link may be a router, which tells nothing about itself. But it shows: a
// packet that is too large for its port it refuses with an ICMP error, so one that vanished without
// a word behind the last router was sent into a link whose far end takes less than the near one.
bool exceeds_far_end(const PairEvidence& pair, const DataAddress& from, const DataAddress& to) {
  constexpr int kEnoughTries = 3;
  if (!pair.mtu || same_subnet(to.ip, from.ip, to.prefix)) return false;
  const MtuEvidence& mtu = *pair.mtu;
  const int taken = to.interface->mtu;
  return mtu.told == 0 && from.interface->mtu > taken && mtu.largest_delivered >= taken &&
         mtu.smallest_lost > taken && mtu.smallest_lost <= from.interface->mtu &&
         mtu.lost_tries >= kEnoughTries && mtu.small_lost == 0;
}

Candidates propose_behind_router(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  for (const DataAddress& mine : all) {
    if (!is_usable(*mine.interface) || mine.interface->mtu <= 0) continue;
    // Where a host of ours is on the same link, its own MTU decides.
    if (!on_link(all, mine).empty()) continue;
    for (const PairEvidence& pair : evidence.pairs) {
      if (pair.to != mine.at.job->name || pair.to_ip != mine.ip) continue;
      const DataAddress* from = find_data(all, pair.from, pair.from_ip);
      if (from == nullptr || !exceeds_far_end(pair, *from, mine)) continue;
      out.push_back(
          Proposal("mtu.mismatch", Severity::kWarn, pair.to)
              .see(pair.to, key_of({"link", pair.to, {}, {}, mine.interface->name}),
                   fmt::format("{} has an MTU of {}; packets of {} bytes from {} vanish without an "
                               "ICMP answer, so the router at the other end of its link takes "
                               "larger ones",
                               mine.interface->name, mine.interface->mtu, pair.mtu->smallest_lost,
                               pair.from))
              .remedy(
                  remedy_set_mtu(mine.at.host->system, mine.interface->name, from->interface->mtu))
              .take(checks));
      break;
    }
  }
  return out;
}

}  // namespace

Candidates propose_mtu(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out = propose_behind_router(evidence, checks);
  const auto all = data_addresses(evidence);
  for (const DataAddress& mine : all) {
    if (!is_usable(*mine.interface) || mine.interface->mtu <= 0) continue;
    const auto peers = on_link(all, mine);
    const RightMtu right = right_mtu(all, mine, peers);
    if (right.mtu == 0) continue;
    const std::string& name = mine.at.job->name;
    OrderedPairs broken;
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
        if (loses_large(pair) || stalls(pair)) broken.insert({pair.from, pair.to});
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
