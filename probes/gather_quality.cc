// The part of gathering that loads the links: path MTU, round trips and short streams, over ports
// that answered, in rounds of disjoint pairs; what looks bad is measured again with nothing else
// going on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/units.h"
#include "probes/gather.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kStreamMs = 220, kStreamDeepMs = 2000;
constexpr int64_t kAgainMs = 400;        // a stream that is measured again, alone
constexpr int kMostAgain = 8;            // pairs that are measured again
constexpr int64_t kPacedMessages = 600;  // enough to see 1 % of loss with 99.7 % certainty
constexpr int64_t kPacedPerSecond = 2500;
constexpr int64_t kPacedAgainMs = 1500;
constexpr int64_t kSomeLost = 2;  // retransmissions that call for a longer look
constexpr int kRoundTrips = 60;
constexpr int64_t kTransferBytes = 512 << 10;
constexpr int64_t kMtuMs = 1500;      // longest wait of one MTU search
constexpr int64_t kMarginMs = 2500;   // beyond what a request takes by itself
constexpr double kSuspicious = 0.75;  // of the median rate, or of the other direction
constexpr double kBitsPerByte = 8;

struct Direction {
  PairEvidence* pair = nullptr;
  size_t from = 0;
  std::string interface;
  int port = 0;
};

class QualityGatherer {
 public:
  QualityGatherer(ProbeContext& context, unsigned needs)
      : context_(context), evidence_(context.evidence), needs_(needs) {
    for (size_t i = 0; i < evidence_.hosts.size(); ++i) index_[evidence_.hosts[i].name] = i;
    for (PairEvidence& pair : evidence_.pairs) {
      const auto open = std::find_if(pair.ports.begin(), pair.ports.end(), [](const PortTry& t) {
        return t.result == "connected" && t.answer == "ours";
      });
      if (!pair.skipped.empty() || pair.same_machine || open == pair.ports.end()) continue;
      Direction direction{&pair, index_[pair.from], "", open->port};
      if (const auto* carrier = carrier_of(evidence_.hosts[direction.from], pair.from_ip)) {
        direction.interface = carrier->name;
      }
      directions_[{direction.from, index_[pair.to]}] = direction;
    }
  }

  void run() {
    const auto rounds = disjoint_rounds(evidence_.hosts.size());
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (stop()) return;
      if (context_.progress) {
        context_.progress(fmt::format("{} hosts: path MTU and rates, round {} of {}",
                                      evidence_.hosts.size(), i + 1, rounds.size()));
      }
      round(rounds[i]);
    }
    if ((needs_ & kNeedQuality) != 0) measure_again();
  }

 private:
  bool stop() const {
    return context_.deadline.passed() || (context_.interrupted && context_.interrupted());
  }
  int64_t stream_ms() const { return evidence_.job.deep ? kStreamDeepMs : kStreamMs; }

  // Both directions of the pairs of a round, first one way, then the other.
  void round(const std::vector<std::pair<size_t, size_t>>& pairs) {
    std::vector<Direction*> there, back, both;
    for (const auto& [a, b] : pairs) {
      const auto ab = directions_.find({a, b}), ba = directions_.find({b, a});
      if (ab != directions_.end()) there.push_back(&ab->second);
      if (ba != directions_.end()) back.push_back(&ba->second);
    }
    both = there;
    both.insert(both.end(), back.begin(), back.end());
    if ((needs_ & kNeedMtu) != 0) mtu(both);
    if ((needs_ & kNeedQuality) == 0) return;
    round_trips(both);
    streams(both, "paced", 0, false);
    streams(there, "one_way", stream_ms(), false);
    streams(back, "one_way", stream_ms(), false);
    if (evidence_.job.deep) streams(there, "two_way", stream_ms(), false);
  }

  static Json base(const Direction& direction) {
    return {{"from_ip", direction.pair->from_ip},
            {"interface", direction.interface},
            {"to_ip", direction.pair->to_ip},
            {"port", direction.port}};
  }

  void mtu(const std::vector<Direction*>& directions) {
    AgentBatch batch(context_);
    for (Direction* direction : directions) {
      Json params = base(*direction);
      int interface_mtu = 0;
      for (const InterfaceEvidence& interface : evidence_.hosts[direction->from].interfaces) {
        if (interface.name == direction->interface) interface_mtu = interface.mtu;
      }
      params["interface_mtu"] = interface_mtu;
      params["transfer_bytes"] = kTransferBytes;
      params["timeout_ms"] = kMtuMs;
      batch.ask(
          direction->from, "mtu", params, 2 * kMtuMs + kMarginMs,
          [direction](const Json& reply) { direction->pair->mtu = reply.get<MtuEvidence>(); });
    }
    batch.collect();
  }

  static QualityEvidence& quality_of(Direction& direction) {
    if (!direction.pair->quality) direction.pair->quality.emplace();
    return *direction.pair->quality;
  }

  void round_trips(const std::vector<Direction*>& directions) {
    AgentBatch batch(context_);
    for (Direction* direction : directions) {
      Json params = base(*direction);
      params["count"] = kRoundTrips;
      params["timeout_ms"] = 1500;
      batch.ask(
          direction->from, "round_trips", params, 1500 + kMarginMs,
          [direction](const Json& reply) {
            quality_of(*direction).round_trips_ns =
                reply.at("round_trips_ns").get<std::vector<int64_t>>();
          },
          [direction](const Error& error) { quality_of(*direction).error = error.message(); });
    }
    batch.collect();
  }

  void streams(const std::vector<Direction*>& directions, const std::string& kind, int64_t ms,
               bool alone) {
    AgentBatch batch(context_);
    for (Direction* direction : directions) {
      Json params = base(*direction);
      params["kind"] = kind;
      if (kind == "paced") {
        const int64_t count = evidence_.job.deep ? 20 * kPacedMessages : kPacedMessages;
        params["rate_per_s"] = kPacedPerSecond;
        params["duration_ms"] = std::max(ms, count * 1000 / kPacedPerSecond);
      } else {
        params["duration_ms"] = ms;
      }
      const int64_t within = params["duration_ms"].get<int64_t>() + kMarginMs;
      batch.ask(
          direction->from, "stream", params, within,
          [direction, kind, alone](const Json& reply) {
            StreamEvidence stream = reply.get<StreamEvidence>();
            stream.kind = kind;
            stream.alone = alone;
            quality_of(*direction).streams.push_back(std::move(stream));
          },
          [direction](const Error& error) { quality_of(*direction).error = error.message(); });
    }
    batch.collect();
  }

  // Best rate of the one-way streams, bits per second; 0 when none was measured.
  static double rate_of(const Direction& direction) {
    double best = 0;
    if (!direction.pair->quality) return 0;
    for (const StreamEvidence& stream : direction.pair->quality->streams) {
      if (stream.kind != "one_way" || stream.duration_ns <= 0) continue;
      best = std::max(best, kBitsPerByte * static_cast<double>(stream.bytes) * 1e9 /
                                static_cast<double>(stream.duration_ns));
    }
    return best;
  }

  // Losses slow a paced stream down, so that the first, short one counts too few segments to say
  // how many are lost.
  void count_losses_again() {
    int left = kMostAgain;
    for (auto& [key, direction] : directions_) {
      const auto& quality = direction.pair->quality;
      const bool lossy = quality && std::any_of(quality->streams.begin(), quality->streams.end(),
                                                [](const StreamEvidence& stream) {
                                                  return stream.kind == "paced" &&
                                                         stream.retransmitted >= kSomeLost;
                                                });
      if (!lossy) continue;
      if (left-- == 0 || stop()) return;
      streams({&direction}, "paced", kPacedAgainMs, true);
    }
  }

  // A rate that is far from the others, or from what the host file states, may be the work of
  // neighbours that were measured at the same time.
  void measure_again() {
    count_losses_again();
    std::vector<double> rates;
    for (const auto& [key, direction] : directions_) rates.push_back(rate_of(direction));
    if (rates.empty()) return;
    std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                     rates.end());
    const double median = rates[rates.size() / 2];
    std::set<std::pair<size_t, size_t>> again;  // unordered
    for (auto& [key, direction] : directions_) {
      const double rate = rate_of(direction);
      // Faster than that, namespaces of one machine measure its cores: nothing to look at again.
      if (shares_cores(direction) && rate > threshold(Threshold::kSharedCoresBps)) continue;
      const auto opposite = directions_.find({key.second, key.first});
      const double other = opposite == directions_.end() ? rate : rate_of(opposite->second);
      const double stated = stated_bps(direction);
      if (rate < kSuspicious * median || rate < kSuspicious * other ||
          (stated > 0 && rate < kSuspicious * stated)) {
        again.insert({std::min(key.first, key.second), std::max(key.first, key.second)});
      }
    }
    int left = kMostAgain;
    for (const auto& [a, b] : again) {
      if (left-- == 0 || stop()) return;
      for (const auto& key : {std::pair{a, b}, std::pair{b, a}}) {
        const auto direction = directions_.find(key);
        if (direction == directions_.end()) continue;
        for (int repeat = 0; repeat < 2; ++repeat) {
          streams({&direction->second}, "one_way", kAgainMs, true);
        }
      }
    }
  }

  bool shares_cores(const Direction& direction) const {
    return std::all_of(
        evidence_.job.hosts.begin(), evidence_.job.hosts.end(), [&](const JobHost& host) {
          const bool end = host.name == direction.pair->from || host.name == direction.pair->to;
          return !end || host.reached_by == "netns" || host.reached_by == "local";
        });
  }

  // "40Gbit" of the slower end in the host file, bits per second; 0 when neither says.
  double stated_bps(const Direction& direction) const {
    double out = 0;
    for (const JobHost& host : evidence_.job.hosts) {
      if (host.name != direction.pair->from && host.name != direction.pair->to) continue;
      const auto bps = parse_bit_rate(host.speed);
      if (bps && (out == 0 || *bps < out)) out = *bps;
    }
    return out;
  }

  ProbeContext& context_;
  EvidenceSet& evidence_;
  unsigned needs_;
  std::map<std::string, size_t> index_;
  std::map<std::pair<size_t, size_t>, Direction> directions_;
};

}  // namespace

void gather_quality(ProbeContext& context, unsigned needs) {
  QualityGatherer(context, needs).run();
}

}  // namespace plumbline
