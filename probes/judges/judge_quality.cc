// Judges of how well a direction carries data: packet sizes, loss, rate, round trip.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/number.h"
#include "core/ranges.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/foreign_numbers.h"
#include "probes/judges/judges.h"
#include "probes/rules/pair_loss.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {

using enum Standing;

namespace {

// Why there is nothing to judge on this pair; empty when there is something.
std::pair<CheckOutcome, std::string> lacking(const EvidenceSet& evidence, const PairEvidence& pair,
                                             bool measured) {
  if (!pair.skipped.empty()) {
    const bool agent = pair.skipped.rfind("no agent", 0) == 0;
    return {agent ? kUnknown : kSkipped, pair.skipped};
  }
  if (pair.same_machine) return {kSkipped, "both ends are this machine"};
  if (measured) return {kPass, ""};
  const bool open =
      any_of(pair.ports, [](const PortTry& t) { return state_of(t) == PortState::kOpen; });
  if (open) return {kUnknown, "not measured"};
  if (calls_nobody(evidence, pair)) return {kSkipped, "nobody calls in this direction"};
  return {kUnknown, "not measured: no port answers"};
}

std::pair<CheckOutcome, std::string> mtu_verdict(const PairView& view) {
  const MtuEvidence& mtu = *view.pair->mtu;
  const int allowed = allowed_mtu(view);
  if (const auto fault = mtu_fault(view)) {
    std::string text;
    if (fault->vanish) {
      text = fmt::format(
          "packets of {} bytes arrive, those of {} vanish without an ICMP error; {} are allowed",
          fault->largest, fault->lost, fault->allowed);
    }
    if (fault->stall) {
      text += fmt::format("{}a transfer stopped after {}", text.empty() ? "" : "; ",
                          describe_size(mtu.transferred));
    }
    return {fault->works ? kWarn : kFail, text};
  }
  const bool whole = mtu.transfer_bytes > 0 && mtu.transferred >= mtu.transfer_bytes;
  if (mtu.told > 0 && mtu.told < allowed) {
    return {kPass,
            fmt::format("the path carries {} bytes, less than the interfaces, and says so by ICMP",
                        mtu.told)};
  }
  if (mtu.largest_delivered > 0 && mtu.largest_delivered >= allowed) {
    return {kPass, fmt::format("packets of {} bytes arrive", mtu.largest_delivered)};
  }
  const bool silent = mtu.small_sent > 0 && mtu.small_lost >= mtu.small_sent;
  const std::string unseen =
      silent ? fmt::format("not even the smallest datagram was answered ({} tries)", mtu.small_sent)
             : "no large packet was seen to arrive or to vanish";
  if (whole) {
    return {kPass,
            fmt::format("a transfer of {} arrived; the largest packet could not be measured{}",
                        describe_size(mtu.transfer_bytes), silent ? ": " + unseen : "")};
  }
  return {kUnknown, mtu.error.empty() ? unseen : mtu.error};
}

}  // namespace

std::vector<Check> judge_mtu(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> out;
  for (const PairEvidence& pair : evidence.pairs) {
    auto [outcome, text] = lacking(evidence, pair, pair.mtu.has_value());
    if (text.empty()) {
      std::tie(outcome, text) = mtu_verdict(pair_view(evidence, pair));
    }
    out.push_back(make_check({"mtu", pair.from, pair.to}, outcome, text));
  }
  return out;
}

// ---- loss, rate, latency ----

namespace {

// What findings say, by the key of the check that they explain.
struct Said {
  CheckOutcome outcome = kWarn;
  std::string text;
};
std::map<std::string, Said> said_by(const Candidates& candidates) {
  std::map<std::string, Said> out;
  for (const Candidate& candidate : candidates) {
    const Finding& finding = candidate.finding;
    const bool fails = finding.outcome == Severity::kFail;
    for (const std::string& key : finding.explains) {
      if (finding.evidence.empty()) continue;
      out[key] = {fails ? kFail : kWarn, finding.evidence[0].text};
    }
  }
  return out;
}

class QualityJudge {
 public:
  explicit QualityJudge(const EvidenceSet& evidence)
      : rate_(said_by(propose_rate(evidence, {}))),
        latency_(said_by(propose_latency(evidence, {}))) {}

  void judge(const PairView& view, std::vector<Check>& out) const {
    out.push_back(loss(view));
    out.push_back(rate(view));
    out.push_back(latency(view));
  }

 private:
  static Check check(const PairView& view, const char* what, CheckOutcome outcome,
                     std::string text) {
    return make_check({"quality", view.pair->from, view.pair->to, {}, what}, outcome,
                      std::move(text));
  }

  // What passes is "no more than": below that share losses stay hidden, and the text says so.
  static Check loss(const PairView& view) {
    const LossShare loss = paced_loss(view);
    const DatagramLoss datagrams = datagram_loss(*view.evidence, view.pair);
    const bool placed = datagrams.seen || datagram_loss(*view.evidence, view.back).seen;
    if (datagrams.measured && placed && datagrams_decide(view)) {
      return loss_check(view, {datagrams.seen, datagrams.share, datagrams.high, datagrams.lost,
                               datagrams.sent, "datagrams"});
    }
    if (loss.sent == 0) return check(view, "loss", kUnknown, "not measured");
    Check out =
        loss_check(view, {loss.seen, loss.share, loss.high, loss.lost, loss.sent, "segments"});
    if (!loss.seen && datagrams.seen) {
      out.reason += fmt::format(
          "; of datagrams {} are lost: a filter that lets TCP of the job through, or limits their "
          "rate",
          percent(datagrams.share));
    }
    return out;
  }

  struct Counted {
    bool seen;
    double share, high;
    int64_t lost, sent;
    const char* what;
  };
  static Check loss_check(const PairView& view, const Counted& count) {
    if (!count.seen) {
      const double above = std::max(count.high, loss_limit(*view.evidence));
      if (count.lost > 0) {
        return check(view, "loss", kUnknown,
                     fmt::format("no loss above {}, but {} of {} {} were lost: too few to tell",
                                 percent(above), count.lost, count.sent, count.what));
      }
      const bool tells = above <= threshold(Threshold::kLossExcluded);
      return check(view, "loss", tells ? kPass : kUnknown,
                   fmt::format("no loss above {} ({} {}); less is not seen", percent(above),
                               count.sent, count.what));
    }
    const bool heavy = count.share > threshold(Threshold::kLossFail);
    return check(view, "loss", heavy ? kFail : kWarn,
                 fmt::format("{} lost: {} of {} {}", percent(count.share), count.lost, count.sent,
                             count.what));
  }

  Check rate(const PairView& view) const {
    const StreamRate rate = one_way_rate(view);
    if (rate.bps <= 0) return check(view, "rate", kUnknown, "not measured");
    std::string text = describe_bit_rate(whole_number_of(rate.bps));
    const Check passed = check(view, "rate", kPass, text);
    const auto warning = rate_.find(passed.key);
    if (warning != rate_.end()) {
      return check(view, "rate", warning->second.outcome, warning->second.text);
    }
    if (!rate.limited_host.empty()) text += "; " + rate.limited_host + ": " + rate.limit;
    const double speed = link_speed(view).bps;
    if (speed <= 0) {
      return check(view, "rate", kSkipped,
                   text + "; the speed of the link is not known: nothing to compare");
    }
    text += " on a link of " + describe_bit_rate(whole_number_of(speed));
    const bool reached = rate.bps >= threshold(Threshold::kRateShare) * speed;
    return check(view, "rate", reached ? kPass : kUnknown,
                 reached ? text : text + "; measured once, beside other pairs");
  }

  Check latency(const PairView& view) const {
    const double time = idle_round_trip(view);
    if (time <= 0) return check(view, "latency", kUnknown, "not measured");
    const std::string text = "idle round trip " + format_duration(time);
    // A round trip is warned of once for both directions.
    for (const auto& [from, to] :
         {std::pair(view.pair->from, view.pair->to), std::pair(view.pair->to, view.pair->from)}) {
      const auto warning = latency_.find(key_of({"quality", from, to, {}, "latency"}));
      if (warning != latency_.end()) {
        return check(view, "latency", warning->second.outcome, warning->second.text);
      }
    }
    const bool short_enough = time < threshold(Threshold::kLatencyMs) * 1e6;
    return check(view, "latency", short_enough ? kPass : kUnknown,
                 short_enough ? text : text + "; not out of line with pairs of its kind");
  }

  std::map<std::string, Said> rate_, latency_;
};

}  // namespace

std::vector<Check> judge_quality(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> out;
  const QualityJudge judge(evidence);
  for (const PairEvidence& pair : evidence.pairs) {
    const auto [outcome, text] = lacking(evidence, pair, pair.quality.has_value());
    if (!text.empty()) {
      out.push_back(make_check({"quality", pair.from, pair.to}, outcome, text));
      continue;
    }
    judge.judge(pair_view(evidence, pair), out);
  }
  return out;
}

}  // namespace plumbline
