// Judges neighbours and routes: for every ordered pair, does the link layer know the peer, and do
// packets leave where they should?
#include <fmt/format.h>

#include <algorithm>

#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/judges/judges.h"
#include "probes/rules/host_routes.h"

namespace plumbline {

using enum Standing;

namespace {

// Why this pair is not judged; empty when it is.
std::string skip_reason(const PairEvidence& pair) {
  if (!pair.skipped.empty()) return pair.skipped;
  if (pair.same_machine) return "both ends are this machine";
  if (is_loopback_ip(pair.from_ip) || is_loopback_ip(pair.to_ip)) {
    return "loopback addresses are on no link";
  }
  return {};
}

// What nobody tried is unknown when an agent was missing, else simply not asked for.
CheckOutcome skip_outcome(const EvidenceSet& evidence, const PairEvidence& pair) {
  const HostEvidence* from = find_host(evidence, pair.from);
  const bool lost = from != nullptr && (!from->agent_cause.empty() || from->source == "none");
  return lost ? kUnknown : kSkipped;
}

// Nothing comes back from a peer without an agent, and only the kernel's table knows it: the entry
// may be older than the silence, and is no answer.
std::optional<Check> only_remembered(const Subject& subject, const PairEvidence& pair) {
  const NeighbourProbe& probe = *pair.neighbour;
  if (reaches(pair) != false) return std::nullopt;
  const bool asked = probe.method == "arp";
  if (asked && !probe.macs.empty()) return std::nullopt;
  const std::string entry =
      fmt::format("the kernel remembers {} ({})", probe.kernel_mac, probe.kernel_state);
  if (!asked) {
    return make_check(subject, kUnknown, entry + ", but nothing comes back from " + pair.to_ip);
  }
  return make_check(subject, kFail,
                    fmt::format("nobody answered for {} on {}; {}", pair.to_ip, probe.dev, entry));
}

Check judge_neighbour_of(const EvidenceSet& evidence, const PairEvidence& pair) {
  const Subject subject = {"neighbour", pair.from, pair.to};
  const std::string skip = skip_reason(pair);
  if (!skip.empty()) return make_check(subject, skip_outcome(evidence, pair), skip);
  if (!pair.neighbour) return make_check(subject, kUnknown, "the link was not asked");
  const NeighbourProbe& probe = *pair.neighbour;
  if (!probe.on_link) {
    return make_check(subject, kSkipped, "the peer lies behind a router");
  }
  if (!probe.error.empty()) return make_check(subject, kUnknown, probe.error);
  std::vector<std::string> macs = probe.macs;
  if (macs.empty() && !probe.kernel_mac.empty() && probe.kernel_state != "FAILED" &&
      probe.kernel_state != "PERMANENT") {
    macs = {probe.kernel_mac};
  }
  if (macs.empty()) {
    return make_check(
        subject, kFail,
        fmt::format("nobody answered for {} on {}{}", pair.to_ip, probe.dev,
                    probe.kernel_state == "PERMANENT" ? "; a static entry says " + probe.kernel_mac
                                                      : std::string()));
  }
  const HostEvidence* peer = find_host(evidence, pair.to);
  if (peer == nullptr || !has_facts(*peer)) {
    if (auto check = only_remembered(subject, pair)) return std::move(*check);
    const bool one = macs.size() == 1;
    return make_check(subject, one ? kPass : kFail,
                      fmt::format("{} answered for {}", join_words(macs), pair.to_ip));
  }
  for (const std::string& mac : macs) {
    if (has_mac(*peer, mac)) continue;
    return make_check(
        subject, kFail,
        fmt::format("{} answered for {}, and is not an interface of {}", mac, pair.to_ip, pair.to));
  }
  if (!probe.kernel_mac.empty() && !has_mac(*peer, probe.kernel_mac)) {
    return make_check(subject, kFail,
                      fmt::format("{} answered, but the system's own entry is {} ({})",
                                  join_words(macs), probe.kernel_mac, probe.kernel_state));
  }
  return make_check(subject, kPass,
                    fmt::format("{} is {} on {}", pair.to_ip, join_words(macs), probe.dev));
}

Check judge_route_of(const EvidenceSet& evidence, const PairEvidence& pair) {
  const Subject subject = {"route", pair.from, pair.to};
  const std::string skip = skip_reason(pair);
  if (!skip.empty()) return make_check(subject, skip_outcome(evidence, pair), skip);
  const RouteLookup* lookup = route_lookup(pair);
  if (lookup == nullptr) {
    return make_check(subject, kUnknown, "the route to the peer was not looked up");
  }
  if (is_refusal(*lookup)) {
    return make_check(subject, kFail,
                      fmt::format("no way to {}: {}", pair.to_ip,
                                  lookup->error.empty() ? lookup->type : lookup->error));
  }
  if (lookup->type == "local") {
    return make_check(subject, kFail,
                      fmt::format("{} takes {} for its own address", pair.from, pair.to_ip));
  }
  const std::string way = fmt::format("{} by {}{}", pair.to_ip, lookup->dev,
                                      lookup->via.empty() ? "" : " via " + lookup->via);
  const auto elsewhere = leaves_elsewhere(evidence, pair);
  if (!elsewhere) {
    return make_check(subject, kUnknown,
                      way + "; which interface has the data address is not known");
  }
  if (!*elsewhere) return make_check(subject, kPass, way);
  const bool works = reaches(evidence, pair.from, pair.to).value_or(false);
  return make_check(subject, works ? kWarn : kFail,
                    way + ", not through the interface of " + pair.from_ip);
}

}  // namespace

std::vector<Check> judge_neighbour(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const PairEvidence& pair : evidence.pairs) {
    checks.push_back(judge_neighbour_of(evidence, pair));
  }
  return checks;
}

std::vector<Check> judge_route(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const PairEvidence& pair : evidence.pairs) {
    checks.push_back(judge_route_of(evidence, pair));
  }
  for (const HostView& view : host_views(evidence)) {
    const Subject subject = {"route", view.job->name, {}, {}, "default"};
    if (only_loopback(*view.job)) {
      checks.push_back(make_check(subject, kSkipped, "the data address is loopback"));
    } else if (view.host->routes.empty()) {
      checks.push_back(make_check(subject, kUnknown, "its routes cannot be seen"));
    } else if (const RouteEvidence* leak = leaked_default(evidence, view)) {
      checks.push_back(make_check(subject, kWarn,
                                  fmt::format("leaves through the data interface {}", leak->dev)));
    } else {
      checks.push_back(
          make_check(subject, kPass, "the data network did not take over the default route"));
    }
  }
  return checks;
}

}  // namespace plumbline
