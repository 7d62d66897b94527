// loss.random and loss.one_way.
#include "probes/rules/pair_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/rules/pair_blocks.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_remedy.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

// A direction that loses so many times less than the other only shows the other's lost
// acknowledgements.
constexpr double kOneWayRatio = 5;

// What is known of one direction.
struct LossWay {
  const PairView* view = nullptr;
  double share = 0;
  std::string text;
  bool placed = false;  // counted at both ends: it is this very direction
};
using Directions = std::map<HostDirection, LossWay>;

void note(Directions& all, const PairView& view, bool there, double share, std::string text) {
  const PairEvidence& pair = *view.pair;
  const HostDirection key =
      there ? HostDirection{pair.from, pair.to} : HostDirection{pair.to, pair.from};
  LossWay& direction = all[key];
  if (share <= direction.share) return;
  direction = {&view, share, std::move(text), direction.placed};
}

void from_streams(Directions& all, const PairView& view) {
  const LossShare loss = paced_loss(view);
  if (!loss.seen) return;
  note(all, view, true, loss.share,
       fmt::format("{} of {} segments to {} {}: {} ({} to {})", loss.lost, loss.sent, view.pair->to,
                   loss.exact ? "did not arrive" : "had to be sent again", percent(loss.share),
                   percent(loss.low), percent(loss.high)));
  all[{view.pair->from, view.pair->to}].placed = loss.exact;
}

// A rule that drops a share of the packets of this direction.
const RuleHit* rule_of(const std::vector<RuleHit>& hits, bool request) {
  for (const RuleHit& hit : hits) {
    if (hit.request == request && !hit.certain && hit.share < 1 && hit.rule != nullptr) return &hit;
  }
  return nullptr;
}

// One that drops packets by conditions that cannot be read (a program of tc), where nothing else
// explains the loss; nullptr when there are several.
const RuleHit* suspect_of(const std::vector<RuleHit>& hits, bool request) {
  const RuleHit* out = nullptr;
  for (const RuleHit& hit : hits) {
    if (hit.request != request || hit.certain || hit.rule == nullptr) continue;
    const auto& matches = hit.rule->matches;
    const bool dark =
        any_of(matches, [](const FilterMatch& match) { return match.key == "other"; });
    if (hit.rule->action != "drop" || !dark) continue;
    if (out != nullptr) return nullptr;
    out = &hit;
  }
  return out;
}

// Where connections fail by chance, no stream can tell: captures, echo and rules do.
void from_failures(Directions& all, const PairView& view) {
  const std::vector<Block> blocks = locate_blocks(view);
  if (!explained_by_chance(view, blocks)) return;
  const ChanceLoss loss = chance_loss_with_rules(view, blocks[0].port);
  const std::string text = fmt::format(
      "connections from {} to {} fail by chance, and others work: about {} of the packets there "
      "and "
      "{} of those back are lost",
      view.pair->from, view.pair->to, percent(loss.there), percent(loss.back));
  // Which way a failed connection lost its packet is a guess, unless a rule is there for one way
  // only.
  const std::vector<RuleHit> hits = rule_hits(view, blocks[0].port);
  const bool there = rule_of(hits, true) != nullptr, back = rule_of(hits, false) != nullptr;
  if (loss.there > 0 && (there || !back)) note(all, view, true, loss.there, text);
  if (loss.back > 0 && (back || !there)) note(all, view, false, loss.back, text);
}

void from_echo(Directions& all, const PairView& view) {
  const auto& ping = view.pair->ping;
  const bool streams = view.pair->quality && !view.pair->quality->streams.empty();
  if (!ping || streams || ping->received <= 0) return;
  const int lost = ping->sent - ping->received;
  if (lost < kFewestLost) return;
  const double share = 1 - std::sqrt(static_cast<double>(ping->received) / ping->sent);
  const std::string text = fmt::format(
      "{} of {} echo requests to {} stayed without an answer; in which direction cannot be told",
      lost, ping->sent, view.pair->to);
  note(all, view, true, share, text);
  note(all, view, false, share, text);
}

// Where datagrams were seen they tell best which way packets get lost, and how many: they go on
// where TCP hardly moves. A direction that is known to lose nothing is none, whatever was guessed
// from connections that failed.
void from_datagrams(Directions& all, const PairView& view) {
  const EvidenceSet& evidence = *view.evidence;
  const HostDirection key = {view.pair->from, view.pair->to};
  if (loses_nothing(view)) all.erase(key);
  if (!datagrams_decide(view)) return;
  const DatagramLoss loss = datagram_loss(evidence, view.pair);
  if (!loss.seen) return;
  all[key] = {
      &view, loss.share,
      fmt::format("{} of {} datagrams to {} did not arrive: {} ({} to {})", loss.lost, loss.sent,
                  view.pair->to, percent(loss.share), percent(loss.low), percent(loss.high)),
      true};
}

// What a host's own filter drops on the way out never counts as retransmitted: the stack is told
// and tries again at once. There the rule itself is the evidence.
void from_own_rules(Directions& all, const PairView& view) {
  const Job& job = view.evidence->job;
  if (!has_open_job_port(view) || job.ports.empty()) return;
  for (const RuleHit& hit : rule_hits(view, job.ports[0])) {
    if (hit.rule == nullptr || hit.place != StopPlace::kSender || hit.certain) continue;
    const bool understood =
        hit.rule->action == "drop" && hit.share < 1 &&
        none_of(hit.rule->matches, [](const FilterMatch& match) { return match.key == "other"; });
    if (!understood || hit.share < loss_limit(*view.evidence)) continue;
    note(all, view, hit.request, hit.share,
         fmt::format("the filter of {} drops {} of the packets that it sends", hit.host->name,
                     percent(hit.share)));
  }
}

// Checks of both directions that warn or fail by chance where packets get lost by chance.
std::vector<std::string> symptoms(const PairView& view, const Checks& checks) {
  std::set<std::string> by_chance;
  const PairView back{view.evidence, view.back, view.to, view.from, view.pair};
  for (const PairView* way : {&view, &back}) {
    if (way->pair == nullptr) continue;
    const std::vector<Block> blocks = locate_blocks(*way);
    if (!explained_by_chance(*way, blocks)) continue;
    for (const Block& block : blocks) {
      const Subject connect{"tcp.connect", way->pair->from, way->pair->to, block.port};
      by_chance.insert(key_of(connect));
    }
  }
  const std::string &a = view.pair->from, &b = view.pair->to;
  std::vector<std::string> out(by_chance.begin(), by_chance.end());
  for (const Check& check : checks) {
    const bool ours = (check.host == a && check.peer == b) || (check.host == b && check.peer == a);
    const bool suffers = check.id == "icmp" || check.id == "firewall" || check.id == "quality";
    if (ours && suffers && check.outcome == CheckOutcome::kWarn) out.push_back(check.key);
  }
  return out;
}

void add_rule(Candidate& candidate, const LossWay& direction, const HostDirection& key) {
  const PairEvidence& pair = *direction.view->pair;
  const Job& job = direction.view->evidence->job;
  const bool request = key.first == pair.from;
  const std::vector<RuleHit> hits =
      rule_hits(*direction.view, job.ports.empty() ? 0 : job.ports[0]);
  const RuleHit* rule = rule_of(hits, request);
  const bool known = rule != nullptr;
  if (!known && direction.placed) rule = suspect_of(hits, request);
  Finding& finding = candidate.finding;
  if (rule == nullptr) {
    finding.remedy = fmt::format(
        "# packets from {} to {} get lost: look at cables, error counters and queues of both "
        "interfaces, at half-duplex links, and at the devices between",
        key.first, key.second);
    return;
  }
  finding.evidence.push_back(
      {rule->host->name, "", (known ? "" : "perhaps by ") + describe(*rule->rule)});
  if (known) finding.confidence = 0.97;
  const bool at_listener = rule->host->name == pair.to;
  Passage passage = passage_at(pair, at_listener);
  passage.ports = job.ports;
  passage.incoming = rule->place == StopPlace::kReceiver;
  // Both ends listen: the packets of this direction go to the peer's ports, or come from our own.
  for (const bool own_ports : {at_listener, !at_listener}) {
    passage.own_ports = own_ports;
    finding.remedy.then(remedy_open(rule->host, rule->rule, passage));
  }
  if (rule->host->name != finding.host) {
    finding.remedy = "# on " + rule->host->name + ": " + describe(*rule->rule);
  }
}

}  // namespace

std::pair<double, double> wilson_interval(int64_t hits, int64_t trials) {
  if (trials <= 0) return {0, 1};
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(trials);
  const double p = std::clamp(static_cast<double>(hits) / n, 0.0, 1.0);
  const double scale = 1 + kZ * kZ / n;
  const double middle = p + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return {std::max(0.0, (middle - half) / scale), std::min(1.0, (middle + half) / scale)};
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

double loss_limit(const EvidenceSet& evidence) {
  return threshold(evidence.job.deep ? Threshold::kLossDeep : Threshold::kLossQuick);
}

LossShare paced_loss(const PairView& view) {
  LossShare out;
  if (!view.pair->quality) return out;
  const auto& streams = view.pair->quality->streams;
  const auto counts = [](const StreamEvidence& s) {
    return s.kind == "paced" && s.segments_out > 0;
  };
  const auto any = [&](auto&& wanted) {
    return any_of(streams, [&](const StreamEvidence& s) { return counts(s) && wanted(s); });
  };
  const auto told = [](const StreamEvidence& s) { return s.segments_in > 0; };
  out.exact = any(told);
  const auto fits = [&](const StreamEvidence& s) { return counts(s) && told(s) == out.exact; };
  const bool alone = any([&](const StreamEvidence& s) { return fits(s) && s.alone; });
  for (const StreamEvidence& stream : streams) {
    if (!fits(stream) || (alone && !stream.alone)) continue;
    out.lost += std::max<int64_t>(0, out.exact ? stream.segments_out - stream.segments_in
                                               : stream.retransmitted - stream.duplicate_reports);
    out.sent += stream.segments_out;
  }
  if (out.sent == 0) return out;
  out.lost = std::min(out.lost, out.sent);
  out.share = static_cast<double>(out.lost) / static_cast<double>(out.sent);
  std::tie(out.low, out.high) = wilson_interval(out.lost, out.sent);
  const double limit = loss_limit(*view.evidence);
  // An estimate of half the limit may still be a loss of the limit's size.
  out.seen = out.lost >= kFewestLost && out.share >= limit / 2 && out.low > limit / 10;
  return out;
}

Candidates propose_loss(const EvidenceSet& evidence, const Checks& checks) {
  const std::vector<PairView> views = pair_views(evidence);
  Directions all;
  for (const PairView& view : views) {
    from_streams(all, view);
    from_failures(all, view);
    from_echo(all, view);
  }
  for (const PairView& view : views) {
    from_datagrams(all, view);
    from_own_rules(all, view);
  }
  std::set<HostDirection> both_ways, one_way;
  for (const auto& [key, direction] : all) {
    const auto back = all.find({key.second, key.first});
    const double other = back == all.end() ? 0 : back->second.share;
    const bool both_placed = back != all.end() && direction.placed && back->second.placed;
    // Otherwise much less than the other way is only its echo.
    if (!both_placed && other > kOneWayRatio * direction.share) continue;
    const bool one = !both_placed && direction.share > kOneWayRatio * other;
    (one ? one_way : both_ways).insert(key);
  }
  Candidates out;
  for (const auto* set : {&both_ways, &one_way}) {
    const PathOwners owners = owners_of_directions(evidence, *set);
    for (const HostDirection& key : *set) {
      const LossWay& direction = all.at(key);
      Candidate candidate;
      Finding& finding = candidate.finding;
      finding.cause = set == &one_way ? "loss.one_way" : "loss.random";
      const bool heavy = direction.share > threshold(Threshold::kLossFail);
      finding.outcome = heavy ? Severity::kFail : Severity::kWarn;
      std::tie(finding.host, finding.peer) = owners.at(key);
      finding.confidence = 0.9;
      const std::string check = key_of({"quality", key.first, key.second, {}, "loss"});
      finding.evidence.push_back({direction.view->pair->from, check, direction.text});
      finding.explains = symptoms(*direction.view, checks);
      finding.explains.push_back(check);
      add_rule(candidate, direction, key);
      candidate.proven = true;
      if (heavy) candidate.breaks = {{key.first, key.second}};
      out.push_back(std::move(candidate));
    }
  }
  return out;
}

}  // namespace plumbline
