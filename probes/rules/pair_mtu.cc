// mtu.blackhole: large packets vanish without a word where small ones pass.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/foreign_numbers.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_filters.h"
#include "probes/rules/pair_loss.h"
#include "probes/rules/pair_remedy.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

// Every IPv6 link, and nearly every other, carries packets of this size (RFC 8200, section 5).
constexpr int kSafeMtu = 1280;
constexpr double kLossThatStalls =
    0.1;                            // share of lost packets that can stall a transfer by itself
constexpr double kUnlikely = 1e-3;  // that all packets of one size are lost by chance

const RuleHit* rule_of(const std::vector<RuleHit>& large, const std::vector<RuleHit>& small) {
  for (const RuleHit& hit : large) {
    if (!hit.request || !hit.certain || hit.rule == nullptr) continue;
    const bool always = any_of(small, [&](const RuleHit& s) { return s.rule == hit.rule; });
    if (!always) return &hit;
  }
  return nullptr;
}

// Small packets get lost as well, so often that the large ones may have been by chance.
bool lost_by_chance(const MtuEvidence& mtu) {
  if (mtu.lost_tries <= 0 || mtu.small_sent <= 0) return false;  // not counted
  const double share = (mtu.small_lost + 1.0) / (mtu.small_sent + 2.0);
  return std::pow(share, mtu.lost_tries) > kUnlikely;
}

Remedy remedy_at(const PairView& view, const MtuFault& fault, const RuleHit* rule,
                 const std::string& named) {
  const PairEvidence& pair = *view.pair;
  const bool at_sender = named == pair.from;
  Passage passage = passage_at(pair, !at_sender);
  passage.ports = view.evidence->job.ports;
  if (rule != nullptr && rule->host->name == named) {
    return remedy_open(rule->host, rule->rule, passage);
  }
  std::string via, dev;
  const PairEvidence* lookups = at_sender ? view.pair : view.back;
  if (lookups != nullptr) {
    for (const RouteLookup& lookup : lookups->routes) {
      if (!lookup.error.empty() || lookup.dev.empty()) continue;
      via = lookup.via;
      dev = lookup.dev;
    }
  }
  const HostEvidence* host = at_sender ? view.from : view.to;
  return Remedy(remedy_route_mtu(host, passage.peer_ip, passage.own_ip, via, dev,
                                 fault.largest > 0 ? fault.largest : kSafeMtu))
      .say(
          "# or let the devices on the way carry larger packets, or say by ICMP (fragmentation "
          "needed, packet too big) that they do not");
}

}  // namespace

int allowed_mtu(const PairView& view) {
  int allowed = view.pair->mtu ? view.pair->mtu->interface_mtu : 0;
  const auto* egress = interface_with(view.from, view.pair->from_ip);
  const auto* ingress = interface_with(view.to, view.pair->to_ip);
  for (const InterfaceEvidence* interface : {egress, ingress}) {
    if (interface == nullptr || interface->mtu <= 0) continue;
    allowed = allowed > 0 ? std::min(allowed, interface->mtu) : interface->mtu;
  }
  return allowed;
}

std::optional<MtuFault> mtu_fault(const PairView& view) {
  if (!view.pair->mtu) return std::nullopt;
  const MtuEvidence& mtu = *view.pair->mtu;
  if (mtu.told > 0) return std::nullopt;  // somebody said it: the senders can adapt
  const int allowed = allowed_mtu(view);
  const double stall_ns = threshold(Threshold::kStallMs) * 1e6;
  MtuFault fault;
  fault.allowed = allowed;
  fault.largest = mtu.largest_delivered;
  fault.lost = mtu.smallest_lost;
  fault.vanish = mtu.largest_delivered > 0 && mtu.smallest_lost > 0 && allowed > 0 &&
                 mtu.smallest_lost <= allowed && mtu.largest_delivered < allowed &&
                 !lost_by_chance(mtu);
  fault.unfinished = mtu.transfer_bytes > 0 && mtu.transferred < mtu.transfer_bytes;
  const bool stalled = static_cast<double>(mtu.stalled_ns) >= stall_ns;
  const bool all_sizes_pass = allowed > 0 && mtu.largest_delivered >= allowed;
  const ChanceLoss loss = chance_loss(view);
  const bool lossy = std::max(loss.there, loss.back) >= kLossThatStalls;
  fault.stall = fault.unfinished && stalled && !all_sizes_pass && !lossy;
  if (!fault.vanish && !fault.stall) return std::nullopt;
  if (fault.vanish && lossy && !fault.unfinished) return std::nullopt;
  // TCP came through in full-size segments, or found a smaller size by itself.
  fault.works = mtu.transfer_bytes > 0 && !fault.unfinished && !stalled;
  return fault;
}

Candidates propose_mtu_blackhole(const EvidenceSet& evidence, const Checks&) {
  Candidates out;
  const std::vector<PairView> views = pair_views(evidence);
  std::set<HostDirection> suffering;
  for (const PairView& view : views) {
    if (mtu_fault(view)) suffering.insert({view.pair->from, view.pair->to});
  }
  const PathOwners owners = owners_of_directions(evidence, suffering);
  for (const PairView& view : views) {
    const auto fault = mtu_fault(view);
    if (!fault) continue;
    const PairEvidence& pair = *view.pair;
    const HostDirection& named = owners.at({pair.from, pair.to});
    const std::string check = key_of({"mtu", pair.from, pair.to});
    Candidate candidate;
    Finding& finding = candidate.finding;
    finding.cause = "mtu.blackhole";
    finding.outcome = fault->works ? Severity::kWarn : Severity::kFail;
    finding.host = named.first;
    finding.peer = named.second;
    finding.confidence = fault->vanish && fault->stall ? 0.95 : fault->vanish ? 0.85 : 0.6;
    finding.explains = {check};
    if (fault->vanish) {
      finding.evidence.push_back(
          {pair.from, check,
           fmt::format("packets of {} bytes to {} arrive, of {} vanish without an ICMP answer; the "
                       "interfaces of both ends allow {}",
                       fault->largest, pair.to_ip, fault->lost, fault->allowed)});
    }
    if (fault->stall) {
      finding.evidence.push_back(
          {pair.from, check,
           fmt::format("a transfer of {} to {} stopped after {}, while small messages pass",
                       describe_size(pair.mtu->transfer_bytes), pair.to,
                       describe_size(pair.mtu->transferred))});
    }
    const int port = evidence.job.ports.empty() ? 0 : evidence.job.ports[0];
    const int size = fault->lost > 0 ? fault->lost : fault->allowed;
    const std::vector<RuleHit> large = rule_hits(view, port, size), small = rule_hits(view, port);
    const RuleHit* rule = rule_of(large, small);
    if (rule != nullptr) finding.evidence.push_back({rule->host->name, "", describe(*rule->rule)});
    finding.remedy = remedy_at(view, *fault, rule, named.first);
    candidate.proven = fault->vanish;
    if (!fault->works) candidate.breaks = {{pair.from, pair.to}};
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace plumbline
