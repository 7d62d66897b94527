// rate.* and latency.high.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/number.h"
#include "core/stats/stats.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/foreign_numbers.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_loss.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

constexpr double kAgree = 0.8;       // two measurements within a fifth tell the same
constexpr size_t kFewestOthers = 3;  // pairs that make a median worth comparing with
constexpr size_t kFewestTurns = 3;   // with another stream, that tell a slow link from busy cores
constexpr size_t kFewestAlike = 2;   // directions that agree on what their kind reaches

double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string bit_rate(double bps) { return describe_bit_rate(whole_number_of(bps)); }

// The speed of one end's link; 0 = unknown. What the host file states goes before what the system
// says, and that counts only for cables of networks: virtual cards invent it, radio never reaches
// it, and IP over Thunderbolt moves a half to a quarter of what the cable signals.
LinkSpeed end_speed(const EvidenceSet& evidence, const std::string& name, const HostEvidence* host,
                    const std::string& ip) {
  if (const JobHost* entry = find_job_host(evidence, name)) {
    if (const auto stated = parse_bit_rate(entry->speed)) return {*stated, true};
  }
  const InterfaceEvidence* interface = interface_with(host, ip);
  if (interface == nullptr || !interface->speed_bps) return {};
  const std::string& kind = interface->kind;
  const bool wire = kind == "ethernet" || kind == "bond";
  return {wire ? static_cast<double>(*interface->speed_bps) : 0, false};
}

bool share_cores(const PairView& view) {
  return share_machine(*view.evidence, view.pair->from, view.pair->to);
}

}  // namespace

std::string pair_kind(const PairView& view) {
  const auto* one = interface_with(view.from, view.pair->from_ip);
  const auto* other = interface_with(view.to, view.pair->to_ip);
  std::string a = one == nullptr ? "unknown" : one->kind;
  std::string b = other == nullptr ? "unknown" : other->kind;
  if (b < a) std::swap(a, b);
  return a + "+" + b;
}

LinkSpeed link_speed(const PairView& view) {
  const PairEvidence& pair = *view.pair;
  const LinkSpeed from = end_speed(*view.evidence, pair.from, view.from, pair.from_ip);
  const LinkSpeed to = end_speed(*view.evidence, pair.to, view.to, pair.to_ip);
  if (from.bps <= 0 || to.bps <= 0) return {};
  if (from.bps == to.bps) return {from.bps, from.stated || to.stated};
  return from.bps < to.bps ? from : to;
}

StreamRate one_way_rate(const PairView& view) {
  StreamRate out;
  if (!view.pair->quality) return out;
  std::vector<double> rates, alone, references;
  for (const StreamEvidence& stream : view.pair->quality->streams) {
    if (stream.duration_ns <= 0 || !stream.error.empty()) continue;
    const double bps =
        8e9 * static_cast<double>(stream.bytes) / static_cast<double>(stream.duration_ns);
    if (stream.kind == "reference") references.push_back(bps);
    if (stream.kind != "one_way") continue;
    rates.push_back(bps);
    if (stream.alone) alone.push_back(bps);
    if (bps <= out.bps) continue;
    out.bps = bps;
    out.best = &stream;
  }
  std::sort(rates.rbegin(), rates.rend());
  out.trusted = !alone.empty() || (rates.size() >= 2 && rates[1] >= kAgree * rates[0]);
  if (alone.size() >= 2) out.alone_least = *std::min_element(alone.begin(), alone.end());
  for (const double reference : references) {
    out.reference_most = std::max(out.reference_most, reference);
  }
  if (references.size() >= kFewestTurns && alone.size() >= kFewestTurns) {
    out.reference_least = *std::min_element(references.begin(), references.end());
  }
  if (out.best == nullptr) return out;
  const StreamEvidence& best = *out.best;
  const double full = threshold(Threshold::kCpuFull), busy = threshold(Threshold::kBufferFull);
  const PairEvidence& pair = *view.pair;
  if (best.cpu_sender > full || best.cpu_receiver > full) {
    out.limited_host = best.cpu_sender >= best.cpu_receiver ? pair.from : pair.to;
    out.limit = fmt::format("the process there takes {:.2f} of a core",
                            std::max(best.cpu_sender, best.cpu_receiver));
  } else if (share_cores(view) && best.cpu_sender + best.cpu_receiver > full) {
    out.limited_host = pair.from;
    out.limit = "both ends share the cores of one machine";
  } else if (best.limited_by_receiver > busy) {
    out.limited_host = pair.to;
    out.limit =
        fmt::format("the receive window of {} held the sender back for {:.0f} % of the time",
                    describe_size(best.receive_window), 100 * best.limited_by_receiver);
  } else if (best.limited_by_buffer > busy) {
    out.limited_host = pair.from;
    out.limit = fmt::format("the send buffer of {} held it back for {:.0f} % of the time",
                            describe_size(best.send_buffer), 100 * best.limited_by_buffer);
  }
  return out;
}

namespace {

struct Measured {
  const PairView* view;
  StreamRate rate;
  std::string kind;
};

class RateJudge {
 public:
  explicit RateJudge(const EvidenceSet& evidence)
      : evidence_(evidence), views_(pair_views(evidence)) {
    for (const PairView& view : views_) {
      const HostDirection key = {view.pair->from, view.pair->to};
      measured_[key] = {&view, one_way_rate(view), pair_kind(view)};
    }
  }

  Candidates judge() {
    for (const auto& [key, entry] : measured_) {
      if (entry.rate.bps > 0 && entry.rate.trusted) look_at(key, entry);
    }
    add("rate.asymmetric", asymmetric_);
    add("rate.below_link", slow_);
    return std::move(out_);
  }

 private:
  // What the best directions of its kind reach, where this one is `ratio` times below; else 0.
  double missed(const Measured& entry, double ratio) const {
    std::vector<double> rates;
    for (const auto& [key, measured] : measured_) {
      if (measured.kind == entry.kind && measured.rate.bps > 0) rates.push_back(measured.rate.bps);
    }
    const std::vector<RateGroup> groups = rate_groups(std::move(rates));
    const RateGroup* best = best_group(groups, kFewestAlike);
    return best != nullptr && is_below(*best, entry.rate.bps, ratio) ? best->usual : 0;
  }

  double back_of(const HostDirection& key) const {
    const auto back = measured_.find({key.second, key.first});
    const bool comparable = back != measured_.end() && back->second.rate.trusted;
    return comparable ? back->second.rate.bps : 0;
  }

  void look_at(const HostDirection& key, const Measured& entry) {
    const LinkSpeed speed = link_speed(*entry.view);
    const bool shared = share_cores(*entry.view);
    // On shared cores whatever else runs there makes the difference.
    if (shared && entry.rate.bps > threshold(Threshold::kSharedCoresBps)) return;
    if (shared && speed.bps <= 0) return look_at_shared(key, entry);
    const double share = threshold(Threshold::kRateShare);
    const bool short_of_speed = speed.bps > 0 && entry.rate.bps < share * speed.bps;
    const double usual = speed.bps > 0 ? 0 : missed(entry, 1 / share);
    if (shared && cores_are_busy(entry.rate, speed.bps)) return;
    if (!entry.rate.limited_host.empty()) {
      if (short_of_speed && !shared) host_limited(entry, speed.bps);
      return;
    }
    const double other = back_of(key);
    if (other > threshold(Threshold::kRateRatio) * entry.rate.bps) {
      uneven(key, entry, other);
    } else if (short_of_speed) {
      slow_[key] = fmt::format("{} to {}: {}, where the link has {}", key.first, key.second,
                               bit_rate(entry.rate.bps), bit_rate(speed.bps));
    } else if (usual > 0) {
      slower(key, entry, usual);
    }
  }

  // Another pair did not reach that speed either when it was tried in turns: the cores had no room
  // for it. Below a quarter of the speed that is no excuse.
  static bool cores_are_busy(const StreamRate& rate, double speed) {
    return rate.reference_most > 0 &&
           rate.reference_most < threshold(Threshold::kRateShare) * speed &&
           rate.bps >= threshold(Threshold::kRateFail) * speed;
  }

  // No lack of a core explains it: alone and in turns with another stream, again and again, and so
  // much slower every time.
  static bool beyond_cores(const Measured& entry) {
    return entry.rate.reference_least >= threshold(Threshold::kSharedCoresRatio) * entry.rate.bps &&
           entry.rate.reference_least > 0;
  }

  void look_at_shared(const HostDirection& key, const Measured& entry) {
    if (!beyond_cores(entry) || !entry.rate.limited_host.empty()) return;
    const double ratio = threshold(Threshold::kSharedCoresRatio);
    const auto back = measured_.find({key.second, key.first});
    const double other = back == measured_.end() ? 0 : back->second.rate.alone_least;
    const double usual = missed(entry, ratio);
    if (other >= ratio * entry.rate.bps) {
      uneven(key, entry, other);
    } else if (usual > 0) {
      slower(key, entry, usual);
    }
  }

  void uneven(const HostDirection& key, const Measured& entry, double other) {
    asymmetric_[key] = fmt::format("{} to {}: {}; back: {}", key.first, key.second,
                                   bit_rate(entry.rate.bps), bit_rate(other));
  }
  void slower(const HostDirection& key, const Measured& entry, double usual) {
    slow_[key] = fmt::format("{} to {}: {}, where the best pairs of its kind reach {}", key.first,
                             key.second, bit_rate(entry.rate.bps), bit_rate(usual));
  }

  void host_limited(const Measured& entry, double speed) {
    const PairEvidence& pair = *entry.view->pair;
    const std::string& host = entry.rate.limited_host;
    Candidate candidate =
        start("rate.host_limited", entry, host, host == pair.from ? pair.to : pair.from);
    candidate.finding.evidence.push_back(
        {host, candidate.finding.explains[0],
         fmt::format("{} to {}: {} on a link of {}; {}", pair.from, pair.to,
                     bit_rate(entry.rate.bps), bit_rate(speed), entry.rate.limit)});
    candidate.finding.remedy =
        "# the host is the limit, not the network: larger socket buffers, more streams, or fewer "
        "other programs on " +
        host;
    out_.push_back(std::move(candidate));
  }

  static Candidate start(const char* cause, const Measured& entry, const std::string& host,
                         const std::string& peer) {
    const PairEvidence& pair = *entry.view->pair;
    const LinkSpeed speed = link_speed(*entry.view);
    const bool fails = speed.stated && entry.rate.bps < threshold(Threshold::kRateFail) * speed.bps;
    Candidate candidate;
    candidate.finding.cause = cause;
    candidate.finding.outcome = fails ? Severity::kFail : Severity::kWarn;
    candidate.finding.host = host;
    candidate.finding.peer = peer;
    candidate.finding.confidence = 0.85;
    candidate.finding.explains = {key_of({"quality", pair.from, pair.to, {}, "rate"})};
    return candidate;
  }

  void add(const char* cause, const std::map<HostDirection, std::string>& found) {
    std::set<HostDirection> directions;
    for (const auto& [key, text] : found) directions.insert(key);
    const PathOwners owners = owners_of_directions(evidence_, directions);
    for (const auto& [key, text] : found) {
      const Measured& entry = measured_.at(key);
      const PairEvidence& pair = *entry.view->pair;
      Candidate candidate = start(cause, entry, owners.at(key).first, owners.at(key).second);
      candidate.proven = share_cores(*entry.view) && beyond_cores(entry);
      candidate.finding.evidence.push_back({pair.from, candidate.finding.explains[0], text});
      candidate.finding.remedy = fmt::format(
          "# between {} and {}: negotiated speed of both ends and of the ports between, cable, "
          "shaping (tc qdisc show), other traffic",
          pair.from, pair.to);
      out_.push_back(std::move(candidate));
    }
  }

  const EvidenceSet& evidence_;
  std::vector<PairView> views_;
  std::map<HostDirection, Measured> measured_;
  std::map<HostDirection, std::string> asymmetric_, slow_;
  Candidates out_;
};

}  // namespace

Candidates propose_rate(const EvidenceSet& evidence, const Checks&) {
  return RateJudge(evidence).judge();
}

// ---- latency ----

// The shortest: a path that delays does so always; a crowded machine, which lets the two programs
// wait for a processor, does so now and then.
double idle_round_trip(const PairView& view) {
  const auto shortest = [](const std::vector<int64_t>& samples) {
    return samples.empty() ? 0
                           : static_cast<double>(*std::min_element(samples.begin(), samples.end()));
  };
  if (view.pair->quality && !view.pair->quality->round_trips_ns.empty()) {
    return shortest(view.pair->quality->round_trips_ns);
  }
  return view.pair->ping ? shortest(view.pair->ping->rtt_ns) : 0;
}

Candidates propose_latency(const EvidenceSet& evidence, const Checks&) {
  // By unordered pair: a round trip has no direction.
  std::map<HostDirection, double> round_trips;
  std::map<HostDirection, const PairView*> view_of;
  const std::vector<PairView> views = pair_views(evidence);
  for (const PairView& view : views) {
    const double time = idle_round_trip(view);
    if (time <= 0) continue;
    const HostDirection key = std::minmax(view.pair->from, view.pair->to);
    double& known = round_trips[key];
    known = known > 0 ? std::min(known, time) : time;
    view_of[key] = &view;
  }
  std::map<HostDirection, std::string> high;
  for (const auto& [key, time] : round_trips) {
    const std::string kind = pair_kind(*view_of[key]);
    if (kind.find("wifi") != std::string::npos || kind.find("tunnel") != std::string::npos)
      continue;
    std::vector<double> others;
    for (const auto& [other, value] : round_trips) {
      if (other != key && pair_kind(*view_of[other]) == kind) others.push_back(value);
    }
    if (others.size() < kFewestOthers || time < threshold(Threshold::kLatencyMs) * 1e6) continue;
    const double usual = upper_median(others);
    if (time <= threshold(Threshold::kLatencyRatio) * usual) continue;
    high[key] = fmt::format("idle round trip {} to {}: never below {}; other pairs of its kind: {}",
                            key.first, key.second, format_duration(time), format_duration(usual));
  }
  std::set<HostDirection> directions;
  for (const auto& [key, text] : high) {
    directions.insert(key);
    directions.insert({key.second, key.first});
  }
  const PathOwners owners = owners_of_directions(evidence, directions);
  Candidates out;
  for (const auto& [key, text] : high) {
    Candidate candidate;
    Finding& finding = candidate.finding;
    finding.cause = "latency.high";
    finding.outcome = Severity::kWarn;
    std::tie(finding.host, finding.peer) = owners.at(key);
    finding.confidence = 0.8;
    const std::string check = key_of({"quality", key.first, key.second, {}, "latency"});
    finding.evidence = {{key.first, check, text}};
    finding.remedy = fmt::format(
        "# between {} and {}: another path than the others', power saving or interrupt moderation "
        "of a card, a full queue, a delay that was set (tc qdisc show)",
        key.first, key.second);
    finding.explains = {check};
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace plumbline
