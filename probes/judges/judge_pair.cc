// Judges of what one host tried towards another: echo, the filters of both, connections.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/clock.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/judges/judges.h"
#include "probes/rules/pair_filters.h"
#include "probes/rules/pair_loss.h"
#include "probes/rules/port_holders.h"

namespace plumbline {

using enum Standing;

namespace {

// Why nothing was tried on this pair: on purpose, or because it could not be.
std::optional<Check> not_tried(const char* id, const PairEvidence& pair) {
  if (pair.skipped.empty()) return std::nullopt;
  const bool lacking = pair.skipped.rfind("no agent", 0) == 0;
  return make_check({id, pair.from, pair.to}, lacking ? kUnknown : kSkipped, pair.skipped);
}

std::string count_of(int received, int sent) {
  return fmt::format("{} of {} echo requests answered", received, sent);
}

std::pair<CheckOutcome, std::string> echo_verdict(const PairView& view) {
  const PairEvidence& pair = *view.pair;
  const PingEvidence& ping = *pair.ping;
  if (!ping.unavailable.empty()) {
    return {kUnknown, "no echo could be sent: " + ping.unavailable};
  }
  if (ping.sent <= 0) return {kUnknown, "no echo was sent"};
  std::string text = count_of(ping.received, ping.sent);
  if (!ping.rtt_ns.empty()) {
    text += ", fastest " + format_duration(static_cast<double>(
                               *std::min_element(ping.rtt_ns.begin(), ping.rtt_ns.end())));
  }
  if (ping.duplicates > 0) text += fmt::format(", {} twice", ping.duplicates);
  for (const std::string& error : ping.errors) text += "; " + error;
  if (ping.received <= 0) {
    const bool works = any_of(pair.ports, [](const PortTry& t) { return is_open(state_of(t)); });
    if (works) return {kWarn, text + ", but TCP works"};
    return {kFail, text};
  }
  const int lost = ping.sent - ping.received;
  // One lost echo of ten may be the first one, which waits for address resolution.
  const bool lossy = lost >= 3 || (lost > 1 && 5 * lost >= ping.sent);
  if (lossy && ping.duplicates == 0 && tcp_losses(view) == TcpLosses::kNone) {
    return {
        kUnknown,
        text + "; TCP loses nothing: echo is rate-limited, or a filter lets only the job through"};
  }
  return {lossy || ping.duplicates > 0 ? kWarn : kPass, text};
}

}  // namespace

std::vector<Check> judge_icmp(const EvidenceSet& evidence, const ProbeParams& params) {
  const auto asked = params.find("max_ms");
  const double max_ms = asked == params.end() ? 0 : parse_decimal(asked->second).value_or(0);
  std::vector<Check> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (auto check = not_tried("icmp", pair)) {
      out.push_back(std::move(*check));
    } else if (pair.same_machine) {
      out.push_back(
          make_check({"icmp", pair.from, pair.to}, kSkipped, "both ends are this machine"));
    } else if (!pair.ping) {
      out.push_back(make_check({"icmp", pair.from, pair.to}, kUnknown, "not asked"));
    } else {
      auto [outcome, text] = echo_verdict(pair_view(evidence, pair));
      const auto& rtts = pair.ping->rtt_ns;
      const bool slow = max_ms > 0 && !rtts.empty() &&
                        static_cast<double>(*std::min_element(rtts.begin(), rtts.end())) >
                            max_ms * static_cast<double>(kMillisecond);
      if (slow) {
        text += fmt::format(", longer than {} ms", max_ms);
        if (outcome == kPass) outcome = kWarn;
      }
      out.push_back(make_check({"icmp", pair.from, pair.to}, outcome, text));
    }
  }
  return out;
}

// ---- filters ----

namespace {

// What the filters of one host do with connections to and from one peer.
class FilterJudge {
 public:
  FilterJudge(const HostEvidence* host, const PairView& to_host, const PairView* from_host)
      : host_(host) {
    look(to_host);
    if (from_host != nullptr) look(*from_host);
  }

  std::pair<CheckOutcome, std::string> verdict() const {
    if (host_ == nullptr || host_->source == "none") {
      return {kUnknown, "nothing is known of this host"};
    }
    if (!stops_.empty()) return {kFail, text_of(stops_)};
    if (!shares_.empty()) return {kWarn, text_of(shares_)};
    std::string unreadable;
    bool any = false;
    for (const FilterSource& source : host_->filter_sources) {
      any = any || source.readable;
      if (!source.present || source.readable) continue;
      unreadable += (unreadable.empty() ? "" : "; ") + source.tool + ": " +
                    (source.why.empty() ? "could not be read" : source.why);
    }
    if (!unreadable.empty()) return {kUnknown, unreadable};
    if (!any) return {kUnknown, "no filter was read"};
    if (!perhaps_.empty()) return {kUnknown, "perhaps " + text_of(perhaps_)};
    return {kPass, fmt::format("{} rules read, none stops the job's ports", host_->filters.size())};
  }

 private:
  void look(const PairView& view) {
    const Job& job = view.evidence->job;
    std::vector<int> ports = ports_between(job, view.pair->from, view.pair->to);
    ports.insert(ports.end(), job.extra_ports.begin(), job.extra_ports.end());
    for (const int port : ports) {
      const auto tried = std::find_if(view.pair->ports.begin(), view.pair->ports.end(),
                                      [&](const PortTry& t) { return t.port == port; });
      // What was seen to pass is not stopped, whatever the rules seem to say.
      const bool open = tried != view.pair->ports.end() && is_open(state_of(*tried));
      for (const RuleHit& hit : rule_hits(view, port)) {
        if (hit.host != host_ || hit.rule == nullptr) continue;
        if (hit.certain && !open) stops_.insert(hit.rule);
        if (!hit.certain && hit.share < 1) shares_.insert(hit.rule);
        if (!hit.certain && hit.share >= 1 && !open) perhaps_.insert(hit.rule);
      }
    }
  }

  static std::string text_of(const std::set<const FilterRule*>& rules) {
    constexpr size_t kMost = 3;
    std::string out;
    size_t shown = 0;
    for (const FilterRule* rule : rules) {
      if (++shown > kMost) return out + fmt::format("; and {} more", rules.size() - kMost);
      out += (out.empty() ? "" : "; ") + describe(*rule);
    }
    return out;
  }

  const HostEvidence* host_;
  std::set<const FilterRule*> stops_, shares_, perhaps_;
};

}  // namespace

std::vector<Check> judge_firewall(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> out;
  const std::vector<PairView> views = pair_views(evidence);
  for (const PairView& view : views) {
    // Named by the host whose filters they are: the end that listens, then its peer.
    const PairEvidence& pair = *view.pair;
    const auto back = std::find_if(views.begin(), views.end(),
                                   [&](const PairView& v) { return v.pair == view.back; });
    const FilterJudge judge(view.to, view, back == views.end() ? nullptr : &*back);
    const auto [outcome, text] = judge.verdict();
    out.push_back(make_check({"firewall", pair.to, pair.from}, outcome, text));
  }
  return out;
}

// ---- connections ----

namespace {

std::string with_error(const std::string& text, const PortTry& attempt) {
  return attempt.error.empty() ? text : text + " (" + attempt.error + ")";
}

// `alone`: no agent at the other end, so that nobody knows whether something should listen there.
std::pair<CheckOutcome, std::string> connect_verdict(const PortTry& attempt, bool alone) {
  const std::string after = format_duration(static_cast<double>(attempt.took_ns));
  switch (state_of(attempt)) {
    case PortState::kOpen:
      return {kPass, "connected in " + after};
    case PortState::kReached:
      return {kUnknown,
              "the connection was accepted; plumbline does not listen there, so it is not known by "
              "whom"};
    case PortState::kStranger:
      return {kFail, "something else accepted: plumbline's listener never saw it"};
    case PortState::kHeld:
      return {kFail, "the port is held by " + (attempt.holder.empty()
                                                   ? std::string("a process that cannot be seen")
                                                   : attempt.holder)};
    case PortState::kNoListener:
      if (alone) {
        return {kUnknown, "refused: the path is open, and nothing listens there now"};
      }
      return {kFail, attempt.listener_error.empty()
                         ? "refused, plumbline does not listen there"
                         : "refused; listening failed: " + attempt.listener_error};
    case PortState::kRefused:
      return {kFail, "refused, though plumbline listens there"};
    case PortState::kRejected: {
      const TraceIcmp& icmp = *icmp_of(attempt);
      return {kFail,
              fmt::format("refused by ICMP from {}: {}", icmp.from,
                          icmp.text.empty() ? fmt::format("type {} code {}", icmp.type, icmp.code)
                                            : icmp.text)};
    }
    case PortState::kUnreachable:
      return {kFail, with_error("the system says it cannot be reached", attempt)};
    case PortState::kDenied:
      return {kFail, with_error("the host's own system did not send it", attempt)};
    case PortState::kSilent:
      return {kFail, "no answer within " + after};
    case PortState::kReset:
      return {kFail, "connected, then reset"};
    case PortState::kNoReply:
      return {kFail, "connected, but nothing came back"};
    case PortState::kUntried:
      break;
  }
  return {kUnknown, with_error("could not be tried", attempt)};
}

// A connection that was left alone for a while and used again.
Check idle_check(const PairEvidence& pair) {
  const PortTry& idle = *pair.idle;
  const Subject subject = {"tcp.connect", pair.from, pair.to, idle.port, "idle"};
  const std::string when = fmt::format("after {} s without a packet", pair.idle_s);
  if (idle.result == "not_tried") {
    return make_check(subject, kUnknown, with_error("not seen " + when, idle));
  }
  if (idle.answer == "ours") return make_check(subject, kPass, "works " + when);
  return make_check(subject, kWarn, with_error(fmt::format("{} {}", idle.result, when), idle));
}

}  // namespace

std::vector<Check> judge_tcp_connect(const EvidenceSet& evidence, const ProbeParams&) {
  constexpr const char* kId = "tcp.connect";
  std::vector<Check> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (auto check = not_tried(kId, pair)) {
      out.push_back(std::move(*check));
      continue;
    }
    if (pair.ports.empty()) {
      const bool nobody = calls_nobody(evidence, pair);
      out.push_back(make_check({kId, pair.from, pair.to}, nobody ? kSkipped : kUnknown,
                               nobody ? "nobody calls in this direction" : "not tried"));
    }
    const PairView view{&evidence, &pair, nullptr, find_host(evidence, pair.to), nullptr};
    const bool alone = seen_from_one_side(view);
    for (const PortTry& attempt : pair.ports) {
      const Subject subject = {kId, pair.from, pair.to, attempt.port};
      const bool held = state_of(attempt) == PortState::kHeld && view.to != nullptr;
      if (held && holder_of(evidence, *view.to, attempt).harmless()) {
        const std::string words = holder_of(evidence, *view.to, attempt).words();
        out.push_back(make_check(subject, kSkipped, "the port is " + words));
        continue;
      }
      const auto [outcome, text] = connect_verdict(attempt, alone);
      out.push_back(make_check(subject, outcome, text));
    }
    if (pair.idle) out.push_back(idle_check(pair));
  }
  return out;
}

}  // namespace plumbline
