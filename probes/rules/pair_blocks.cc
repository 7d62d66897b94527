#include "probes/rules/pair_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_locate.h"

namespace plumbline {
namespace {

// Attempts that fail by chance at least so often are not blamed on a filter.
constexpr double kLikelyChance = 0.01;

const FilterRule* certain_rule(const Block& block) {
  return block.hit && block.hit->certain ? block.hit->rule : nullptr;
}

const char* plain_cause(How how, StopPlace place) {
  if (how == How::kRejectIcmp) return "firewall.reject_icmp";
  if (how == How::kRejectRst) return "firewall.reject_rst";
  switch (place) {
    case StopPlace::kSender:
      return "firewall.drop_outbound";
    case StopPlace::kPath:
      return "firewall.drop_path";
    case StopPlace::kReceiver:
      break;
  }
  return "firewall.drop_inbound";
}

// Where on the way of a connection's packets: there 0 to 2, and back 3 to 5.
int station_of(const Block& block) {
  return (block.request ? 0 : 3) + static_cast<int>(block.places[0]);
}

// The capture of the end to which the suffering packet goes shows it. (That an answer suffers is
// itself a sign that the request arrived.)
bool seen_to_arrive(const Block& block) {
  const PairEvidence& pair = *block.view->pair;
  return any_of(pair.ports, [&](const PortTry& attempt) {
    if (attempt.port != block.port) return false;
    const TraceDirection* way =
        block.request ? sent_by(attempt.there, pair.from_ip) : sent_by(attempt.here, pair.to_ip);
    return way != nullptr && (block.request ? way->syn : way->syn_ack) > 0;
  });
}

// Rules stop all members, and none of the same place stops this port.
bool let_by_rules(const std::vector<const Block*>& members, int port) {
  const std::vector<RuleHit> hits = rule_hits(*members[0]->view, port);
  return all_of(members, [&](const Block* block) {
    if (certain_rule(*block) == nullptr || !filters_readable(block->hit->host)) return false;
    return none_of(hits, [&](const RuleHit& hit) {
      return hit.host == block->hit->host && hit.request == block->hit->request &&
             hit.place == block->hit->place;
    });
  });
}

}  // namespace

std::vector<int> BlockGroup::ports() const {
  std::vector<int> out;
  for (const Block* block : blocks) out.push_back(block->port);
  sort_unique(out);
  return out;
}

ChanceLoss chance_loss_with_rules(const PairView& view, int port) {
  ChanceLoss loss = chance_loss(view);
  for (const RuleHit& hit : rule_hits(view, port)) {
    if (hit.certain || hit.share >= 1 || hit.rule == nullptr) continue;
    double& way = hit.request ? loss.there : loss.back;
    way = std::max(way, hit.share);
    loss.measured = true;
  }
  return loss;
}

bool explained_by_chance(const PairView& view, const std::vector<Block>& blocks) {
  int fewest = 1000, silent = 0, port = 0;
  for (const Block& block : blocks) {
    if (block.how != How::kDrop || block.latent) continue;
    if (certain_rule(block) != nullptr) return false;
    fewest = std::min(fewest, std::max(1, block.packets));
    port = block.port;
    ++silent;
  }
  if (silent == 0) return false;
  const ChanceLoss loss = chance_loss_with_rules(view, port);
  if (!loss.measured) return false;
  // All ports silent is less likely than some of them.
  const auto tried = static_cast<int>(view.pair->ports.size());
  if (silent < tried) return chance_of_silence(loss, fewest, tried) >= kLikelyChance;
  double all = 1;
  for (int i = 0; i < silent; ++i) all *= chance_of_silence(loss, fewest, 1);
  return all >= kLikelyChance;
}

bool silent_by_chance(const PairView& view, int port) {
  constexpr int kRequests = 3;  // after 0, 0.2 and 0.6 s at least
  const ChanceLoss loss = chance_loss_with_rules(view, port);
  const auto tried = static_cast<int>(view.pair->ports.size());
  return loss.measured && chance_of_silence(loss, kRequests, tried) >= kLikelyChance;
}

BlockAnalysis::BlockAnalysis(const EvidenceSet& evidence) : evidence_(evidence) {
  locate();
  settle_all_silent();
  settle_places();
  fold_refusals();
  make_groups();
  join_parts();
  fold_partial();
  join_paths();
}

void BlockAnalysis::locate() {
  views_ = pair_views(evidence_);
  for (const PairView& view : views_) {
    if (refused_by_privacy(view)) continue;
    std::vector<Block> found = locate_blocks(view);
    const bool chance = explained_by_chance(view, found);
    for (Block& block : found) {
      const bool lost = block.how == How::kDrop && !block.latent;
      if (!(chance && lost)) blocks_.push_back(std::move(block));
    }
  }
}

// ---- where one pair alone does not tell ----

std::string BlockAnalysis::culprit_of(const Block& block) const {
  if (block.router != nullptr) return block.router->name;
  const StopPlace place = block.places[0];
  if (place == StopPlace::kReceiver) return block.receiver();
  // Who refuses on the way is no host of ours: the end that it speaks for is named.
  if (place == StopPlace::kPath && block.how != How::kDrop) return block.view->pair->to;
  return block.sender();
}

std::vector<std::string> BlockAnalysis::peers_of(const std::string& host) const {
  std::set<std::string> peers;
  for (const PairView& view : views_) {
    if (view.pair->from == host) peers.insert(view.pair->to);
    if (view.pair->to == host) peers.insert(view.pair->from);
  }
  return {peers.begin(), peers.end()};
}

// Do packets from every peer to this host get lost (or, as kSender, from it to every peer), with
// the same port as this one?
bool BlockAnalysis::covers(const std::string& host, StopPlace side, const Block& like) const {
  std::set<std::string> lost;
  for (const Block& block : blocks_) {
    const bool alike =
        block.how == like.how && block.port == like.port && block.request == like.request;
    if (!alike || !is_in(block.places, side)) continue;
    if (side == StopPlace::kReceiver && block.receiver() == host) lost.insert(block.sender());
    if (side == StopPlace::kSender && block.sender() == host) lost.insert(block.receiver());
  }
  return lost.size() >= kPattern && lost.size() == peers_of(host).size();
}

// When nothing came back on any pair, the hosts have nothing in common but the network.
void BlockAnalysis::settle_all_silent() {
  std::set<const PairView*> silent;
  for (const Block& block : blocks_) {
    if (!block.known() && block.how == How::kDrop && is_in(block.places, StopPlace::kPath)) {
      silent.insert(block.view);
    }
  }
  if (silent.size() < views_.size() || evidence_.job.hosts.size() <= kPattern) return;
  for (Block& block : blocks_) {
    if (!block.known() && is_in(block.places, StopPlace::kPath)) block.places = {StopPlace::kPath};
  }
}

StopPlace BlockAnalysis::settle(const Block& block) const {
  for (const StopPlace side : {StopPlace::kReceiver, StopPlace::kSender}) {
    if (!is_in(block.places, side)) continue;
    const std::string& host = side == StopPlace::kReceiver ? block.receiver() : block.sender();
    const bool known = any_of(blocks_, [&](const Block& other) {
      const bool alike = other.port == block.port && other.request == block.request;
      return alike && other.at(side) && culprit_of(other) == host && other.proven;
    });
    if (known || covers(host, side, block)) return side;
  }
  for (const StopPlace place : {StopPlace::kReceiver, StopPlace::kSender}) {
    if (is_in(block.places, place)) return place;
  }
  return StopPlace::kPath;
}

void BlockAnalysis::settle_places() {
  std::vector<std::pair<Block*, StopPlace>> settled;
  for (Block& block : blocks_) {
    if (!block.known()) settled.emplace_back(&block, settle(block));
  }
  for (auto& [block, place] : settled) block->places = {place};
}

// A filter that refuses what comes in (or goes out) also swallows the answers to the host's own
// connections, and the kernel sends only so many ICMP errors a second (icmp_ratelimit, icmp(7)):
// silence at the place of a refusal is its other face.
void BlockAnalysis::fold_refusals() {
  for (Block& silent : blocks_) {
    if (silent.how != How::kDrop || silent.at(StopPlace::kPath)) continue;
    const PairEvidence& own = *silent.view->pair;
    for (const Block& refusal : blocks_) {
      if (refusal.how == How::kDrop || refusal.places != silent.places) continue;
      if (culprit_of(refusal) != culprit_of(silent)) continue;
      const PairEvidence& pair = *refusal.view->pair;
      const bool same = &pair == &own;
      if (!same && (pair.from != own.to || pair.to != own.from)) continue;
      const FilterRule *one = certain_rule(silent), *other = certain_rule(refusal);
      if (one != nullptr && other != nullptr && one != other) continue;
      silent.how = refusal.how;
      break;
    }
  }
}

// ---- groups ----

// Some ports of the job open and some not; further ports do not count. Where another fault keeps
// all ports of the pair from being open, those count that get past this culprit.
bool BlockAnalysis::is_partial(const std::vector<const Block*>& members) const {
  const PairView& view = *members[0]->view;
  std::set<int> blocked;
  bool tried = false;
  for (const Block* block : members) {
    if (!is_job_port(evidence_.job, block->port)) continue;
    blocked.insert(block->port);
    tried = tried || !block->latent;
  }
  if (blocked.empty()) return false;
  if (tried && has_open_job_port(view)) return true;
  const auto ports = ports_between(evidence_.job, view.pair->from, view.pair->to);
  return any_of(ports, [&](int port) {
    return blocked.count(port) == 0 && (!tried || passes(members, port));
  });
}

// Do packets to this port get past the place where those of the members are stopped?
bool BlockAnalysis::passes(const std::vector<const Block*>& members, int port) const {
  const PairView& view = *members[0]->view;
  const std::vector<PortTry>& tries = view.pair->ports;
  const bool through = any_of(tries, [&](const PortTry& attempt) {
    if (attempt.port != port) return false;
    return attempt.result == "connected" || state_of(attempt) == PortState::kNoListener;
  });
  if (through) return true;
  const Block* last = *std::max_element(
      members.begin(), members.end(),
      [](const Block* a, const Block* b) { return station_of(*a) < station_of(*b); });
  const bool later = any_of(blocks_, [&](const Block& other) {
    return other.view == &view && other.port == port && !other.latent &&
           station_of(other) > station_of(*last) &&
           (other.request != last->request || seen_to_arrive(other));
  });
  return later || let_by_rules(members, port);
}

void BlockAnalysis::make_groups() {
  // First by culprit (what gets lost behind its wire apart), then what is not partial by the way of
  // blocking.
  std::map<std::tuple<size_t, std::string, bool>, std::vector<const Block*>> by_culprit;
  for (const Block& block : blocks_) {
    const auto view = static_cast<size_t>(block.view - views_.data());
    by_culprit[{view, culprit_of(block), block.at(StopPlace::kPath)}].push_back(&block);
  }
  for (auto& [key, members] : by_culprit) {
    const std::string& culprit = std::get<1>(key);
    const bool partial = is_partial(members);
    std::map<std::tuple<bool, How, StopPlace>, BlockGroup> groups;
    for (const Block* block : members) {
      const bool part = partial && is_job_port(evidence_.job, block->port);
      const StopPlace place = block->places[0];
      BlockGroup& group = part ? groups[{true, How::kDrop, StopPlace::kReceiver}]
                               : groups[{false, block->how, place}];
      if (group.blocks.empty()) {
        group.view = block->view;
        group.cause = part ? "firewall.partial_range" : plain_cause(block->how, place);
        group.culprit = culprit;
        const PairEvidence& pair = *block->view->pair;
        group.peer = culprit == pair.to ? pair.from : pair.to;
        group.request = block->request;
        group.place = place;
        group.how = block->how;
      }
      group.blocks.push_back(block);
    }
    for (auto& [ignored, group] : groups) groups_.push_back(std::move(group));
  }
}

// What a pair shows of a blocked part of the range when nothing of its other ports was seen: of the
// same ports, stopped at the same place, where another pair shows that others get through.
void BlockAnalysis::join_parts() {
  for (BlockGroup& group : groups_) {
    if (group.cause == "firewall.partial_range") continue;
    const std::vector<int> ports = group.ports();
    const bool part = any_of(groups_, [&](const BlockGroup& other) {
      if (other.cause != "firewall.partial_range" || other.culprit != group.culprit) return false;
      const bool alike = other.request == group.request && other.place == group.place;
      const std::vector<int> range = other.ports();
      return alike && other.view != group.view &&
             std::includes(range.begin(), range.end(), ports.begin(), ports.end());
    });
    if (part) group.cause = "firewall.partial_range";
  }
}

// One rule can leave some ports of the host open to its peers and yet stop all answers to its own
// connections: that is one fault, named by what it does in full.
void BlockAnalysis::fold_partial() {
  for (BlockGroup& part : groups_) {
    if (part.cause != "firewall.partial_range") continue;
    const FilterRule* rule = certain_rule(*part.blocks[0]);
    if (rule == nullptr) continue;
    for (const BlockGroup& whole : groups_) {
      if (whole.cause == "firewall.partial_range" || whole.culprit != part.culprit) continue;
      const bool same =
          all_of(whole.blocks, [&](const Block* b) { return certain_rule(*b) == rule; });
      if (!same) continue;
      part.cause = whole.cause;
      break;
    }
  }
}

// Packets that vanish between hosts: when all that is lost comes from or goes to one host, it is
// one fault at that host's end; a pair that loses both ways is one fault as well.
void BlockAnalysis::join_paths() {
  std::vector<BlockGroup*> lost;
  std::set<std::pair<std::string, std::string>> directions;
  for (BlockGroup& group : groups_) {
    if (group.place != StopPlace::kPath || group.how != How::kDrop) continue;
    lost.push_back(&group);
    directions.insert({group.culprit, group.peer});
  }
  const PathOwners owners = owners_of_directions(evidence_, directions);
  for (BlockGroup* group : lost) {
    const auto owner = owners.find({group->culprit, group->peer});
    if (owner == owners.end()) continue;
    group->culprit = owner->second.first;
    group->peer = owner->second.second;
  }
}

}  // namespace plumbline
