// The part of gathering that loads the links: losses, path MTU, round trips and short streams, over
// ports that answered, in rounds of disjoint pairs; what looks bad is measured again with nothing
// else going on. Where packets get lost, rates and round trips say no more than that, and every
// stream takes seconds: those are left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/stats/stats.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"
#include "probes/rules/pair_loss.h"
#include "probes/thresholds.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int64_t kStreamMs = 220, kStreamDeepMs = 2000;
constexpr int64_t kAgainMs = 400;  // a stream that is measured again, alone
constexpr int kMostAgain = 8;      // pairs that are measured again
constexpr int kTurns = 4;          // with another stream, where cores are shared
constexpr int64_t kTurnMs = 250;
constexpr int64_t kPacedMessages = 600;  // enough to see 1 % of loss with 99.7 % certainty
constexpr int64_t kPacedPerSecond = 2500;
constexpr int64_t kPacedAgainMs = 1500;
constexpr int64_t kPacedMarginMs = 1500;  // for a lost SYN, and the answer at the end
constexpr int kRoundTrips = 60;
constexpr int64_t kRoundTripsMs = 1500;
constexpr int64_t kTransferBytes = 512 << 10;
constexpr int64_t kMtuMs = 1500, kMtuLossyMs = 1000;  // longest wait of one MTU search
constexpr int64_t kMarginMs = 2500;                   // beyond what a request takes by itself
constexpr double kSuspicious = 0.75;       // of the speed, the best rates, or the other direction
constexpr double kSuspiciousCores = 0.33;  // the same on shared cores, where no speed is known
constexpr size_t kFewestAlike = 2;         // directions that agree on what their kind reaches
constexpr double kBitsPerByte = 8;

struct StreamWay {
  PairEvidence* pair = nullptr;
  size_t from = 0;
  AskedPort at = {};
};

using HostPair = std::pair<size_t, size_t>;

class QualityGatherer {
 public:
  QualityGatherer(ProbeContext& context, unsigned needs)
      : context_(context), evidence_(context.evidence), needs_(needs), datagrams_(context) {
    for (PairEvidence& pair : evidence_.pairs) {
      const auto open = std::find_if(pair.ports.begin(), pair.ports.end(), is_ours);
      if (!pair.skipped.empty() || pair.same_machine || open == pair.ports.end()) continue;
      const size_t from = index_of(evidence_, pair.from);
      directions_[{from, index_of(evidence_, pair.to)}] = {
          &pair, from, {way_of(evidence_, pair), open->port}};
    }
  }

  void run() {
    const auto rounds = disjoint_rounds(evidence_.hosts.size());
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (is_over(context_)) return;
      if (context_.progress) {
        context_.progress(fmt::format("{} hosts: path MTU and rates, round {} of {}",
                                      evidence_.hosts.size(), i + 1, rounds.size()));
      }
      round(rounds[i]);
    }
    if ((needs_ & kNeedQuality) != 0) measure_again();
  }

 private:
  int64_t stream_ms() const { return evidence_.job.deep ? kStreamDeepMs : kStreamMs; }

  std::vector<StreamWay*> directions_of(const HostPair& pair) {
    std::vector<StreamWay*> out;
    for (const HostPair& key : {pair, HostPair{pair.second, pair.first}}) {
      const auto found = directions_.find(key);
      if (found != directions_.end()) out.push_back(&found->second);
    }
    return out;
  }

  // Both directions of the pairs of a round, first one way, then the other.
  void round(const std::vector<HostPair>& pairs) {
    if ((needs_ & kNeedQuality) != 0) losses(pairs, 0, false);
    std::vector<StreamWay*> there, back, both, lossy, sound;
    for (const HostPair& pair : pairs) {
      const auto ab = directions_.find(pair), ba = directions_.find({pair.second, pair.first});
      const bool bad = loses(pair);
      if (ab != directions_.end() && !bad) there.push_back(&ab->second);
      if (ba != directions_.end() && !bad) back.push_back(&ba->second);
      for (StreamWay* direction : directions_of(pair)) {
        (bad ? lossy : sound).push_back(direction);
      }
    }
    if ((needs_ & kNeedMtu) != 0) mtu(sound, lossy);
    if ((needs_ & kNeedQuality) == 0) return;
    round_trips(sound);
    streams(there, "one_way", stream_ms(), false);
    streams(back, "one_way", stream_ms(), false);
    if (evidence_.job.deep) streams(there, "two_way", stream_ms(), false);
  }

  // Paced streams and datagrams, both directions of these pairs at once: few bytes, which no link
  // feels.
  void losses(const std::vector<HostPair>& pairs, int64_t ms, bool alone) {
    datagrams_.open(pairs, alone);
    AgentBatch batch(context_);
    for (const HostPair& pair : pairs) {
      for (StreamWay* direction : directions_of(pair)) {
        ask_stream(batch, *direction, "paced", ms, alone);
      }
    }
    datagrams_.send(batch);
    batch.collect();
    datagrams_.close();
  }

  // Of both directions.
  LossSigns signs_between(const HostPair& pair) const {
    const std::string &a = evidence_.hosts[pair.first].name, &b = evidence_.hosts[pair.second].name;
    LossSigns out;
    for (const PairEvidence& entry : evidence_.pairs) {
      const bool ours = (entry.from == a && entry.to == b) || (entry.from == b && entry.to == a);
      if (ours) out.add(loss_signs(entry));
    }
    return out;
  }
  // Both TCP and datagrams get lost between the two.
  bool loses(const HostPair& pair) const {
    const LossSigns signs = signs_between(pair);
    return signs.tcp_sure && signs.datagrams_sure;
  }

  void mtu(const std::vector<StreamWay*>& sound, const std::vector<StreamWay*>& lossy) {
    AgentBatch batch(context_);
    for (StreamWay* direction : sound) ask_mtu(batch, *direction, kMtuMs);
    for (StreamWay* direction : lossy) ask_mtu(batch, *direction, kMtuLossyMs);
    batch.collect();
  }

  void ask_mtu(AgentBatch& batch, StreamWay& direction, int64_t ms) {
    PairEvidence* pair = direction.pair;
    AskMtu asked{direction.at, {0, kTransferBytes, ms, std::min(silence_that_tells_ms(*pair), ms)}};
    for (const InterfaceEvidence& interface : evidence_.hosts[direction.from].interfaces) {
      if (interface.name == direction.at.interface) asked.interface_mtu = interface.mtu;
    }
    batch.ask(direction.from, asked, 2 * ms + kMarginMs,
              [pair](MtuEvidence reply) { pair->mtu = std::move(reply); });
  }

  static QualityEvidence& quality_of(StreamWay& direction) {
    if (!direction.pair->quality) direction.pair->quality.emplace();
    return *direction.pair->quality;
  }

  void round_trips(const std::vector<StreamWay*>& directions) {
    AgentBatch batch(context_);
    for (StreamWay* direction : directions) {
      const AskRoundTrips asked{direction->at, kRoundTrips, kRoundTripsMs};
      batch.ask(
          direction->from, asked, kRoundTripsMs + kMarginMs,
          [direction](RoundTripsReply reply) {
            quality_of(*direction).round_trips_ns = std::move(reply.round_trips_ns);
          },
          [direction](const Error& error) { quality_of(*direction).error = error.message(); });
    }
    batch.collect();
  }

  void streams(const std::vector<StreamWay*>& directions, const std::string& kind, int64_t ms,
               bool alone) {
    AgentBatch batch(context_);
    for (StreamWay* direction : directions) ask_stream(batch, *direction, kind, ms, alone);
    batch.collect();
  }

  void ask_stream(AgentBatch& batch, StreamWay& to_ask, const std::string& kind, int64_t ms,
                  bool alone) {
    StreamWay* direction = &to_ask;
    AskStream asked{to_ask.at, {kind, ms}};
    if (kind == "paced") {
      const int64_t count = evidence_.job.deep ? 20 * kPacedMessages : kPacedMessages;
      asked.rate_per_s = kPacedPerSecond;
      asked.duration_ms = std::max(ms, count * 1000 / kPacedPerSecond);
    }
    const int64_t within_ms = asked.duration_ms + (kind == "paced" ? kPacedMarginMs : kMarginMs);
    batch.ask(
        direction->from, asked, within_ms,
        [direction, kind, alone](StreamEvidence stream) {
          stream.kind = kind;
          stream.alone = alone;
          quality_of(*direction).streams.push_back(std::move(stream));
        },
        [direction](const Error& error) { quality_of(*direction).error = error.message(); });
  }

  // Best rate of the one-way streams, bits per second; 0 when none was measured.
  static double rate_of(const StreamWay& direction) {
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
  // how many are lost; and a few datagrams, or a few at a busy moment, say little.
  void count_losses_again() {
    int left = kMostAgain;
    for (const auto& all : disjoint_rounds(evidence_.hosts.size())) {
      std::vector<HostPair> bad;
      for (const HostPair& pair : all) {
        const LossSigns signs = signs_between(pair);
        if ((signs.tcp_some || signs.datagrams_some) && left-- > 0) bad.push_back(pair);
      }
      if (is_over(context_)) return;
      if (!bad.empty()) losses(bad, kPacedAgainMs, true);
    }
  }

  // What the best directions of each kind reach, bits per second.
  std::map<std::string, double> usual_rates() const {
    std::map<std::string, std::vector<double>> rates;
    for (const auto& [key, direction] : directions_) {
      if (!loses(key)) rates[kind_of(direction)].push_back(rate_of(direction));
    }
    std::map<std::string, double> out;
    for (auto& [kind, list] : rates) {
      const std::vector<RateGroup> groups = rate_groups(std::move(list));
      const RateGroup* best = best_group(groups, kFewestAlike);
      if (best != nullptr) out[kind] = best->usual;
    }
    return out;
  }

  PairView view_of(const StreamWay& direction) const {
    return pair_view(evidence_, *direction.pair);
  }
  std::string kind_of(const StreamWay& direction) const { return pair_kind(view_of(direction)); }
  bool shares_cores(const StreamWay& direction) const {
    return share_machine(evidence_, direction.pair->from, direction.pair->to);
  }
  // A rate that is far from the others', or from the link's speed, may be the work of neighbours
  // that were measured at the same time.
  bool suspicious(const HostPair& key, const StreamWay& direction,
                  const std::map<std::string, double>& usual) const {
    const double rate = rate_of(direction);
    // Faster than that, namespaces of one machine measure its cores: nothing to look at again.
    const bool shared = shares_cores(direction);
    if (loses(key) || (shared && rate > threshold(Threshold::kSharedCoresBps))) return false;
    const double speed = link_speed(view_of(direction)).bps;
    const double share = shared && speed <= 0 ? kSuspiciousCores : kSuspicious;
    const auto opposite = directions_.find({key.second, key.first});
    if (opposite != directions_.end() && rate < share * rate_of(opposite->second)) return true;
    if (speed > 0) return rate < share * speed;
    const auto best = usual.find(kind_of(direction));
    return best != usual.end() && rate < share * best->second;
  }

  void measure_again() {
    count_losses_again();
    const std::map<std::string, double> usual = usual_rates();
    std::set<HostPair> again;  // unordered
    for (const auto& [key, direction] : directions_) {
      if (suspicious(key, direction, usual)) again.insert(std::minmax(key.first, key.second));
    }
    int left = kMostAgain;
    for (const HostPair& pair : again) {
      if (left-- == 0 || is_over(context_)) return;
      const std::vector<StreamWay*> both = directions_of(pair);
      const StreamWay& one = *both.front();
      const bool speed = link_speed(view_of(one)).bps > 0;
      if (speed || !shares_cores(one)) {
        for (StreamWay* direction : both) {
          for (int repeat = 0; repeat < 2; ++repeat) {
            streams({direction}, "one_way", kAgainMs, true);
          }
        }
      }
      if (shares_cores(one)) in_turns(both);
    }
  }

  // Alone, and in turns with another stream: what slows only this pair is not the cores. Ends with
  // the first turn in which that stream is not far faster.
  void in_turns(const std::vector<StreamWay*>& both) {
    StreamWay* reference = fastest(*both.front());
    if (reference == nullptr) return;
    for (int turn = 0; turn < kTurns && !is_over(context_); ++turn) {
      double slowest = 0;
      for (StreamWay* direction : both) {
        streams({direction}, "one_way", kTurnMs, true);
        const double rate = rate_of(*direction);
        if (slowest == 0 || rate < slowest) slowest = rate;
      }
      if (measure_reference(*reference, both) < threshold(Threshold::kSharedCoresRatio) * slowest) {
        return;
      }
    }
  }

  // Bits per second; 0 when it failed. Written down with those that it is compared with.
  double measure_reference(StreamWay& reference, const std::vector<StreamWay*>& compared) {
    StreamWay scratch = reference;
    PairEvidence pair = *reference.pair;
    pair.quality.emplace();
    scratch.pair = &pair;
    streams({&scratch}, "one_way", kTurnMs, true);
    for (StreamEvidence& stream : pair.quality->streams) {
      stream.kind = "reference";
      for (StreamWay* direction : compared) quality_of(*direction).streams.push_back(stream);
      stream.kind = "one_way";
    }
    return rate_of(scratch);
  }

  // The fastest direction of this kind on another cable: what the cores give at the same moment.
  StreamWay* fastest(const StreamWay& like) {
    StreamWay* best = nullptr;
    for (auto& [key, direction] : directions_) {
      const bool own =
          direction.pair->from == like.pair->to && direction.pair->to == like.pair->from;
      if (own || direction.pair == like.pair || kind_of(direction) != kind_of(like)) continue;
      if (best == nullptr || rate_of(direction) > rate_of(*best)) best = &direction;
    }
    return best;
  }

  ProbeContext& context_;
  EvidenceSet& evidence_;
  unsigned needs_;
  std::map<HostPair, StreamWay> directions_;
  DatagramStreams datagrams_;
};

}  // namespace

void gather_quality(ProbeContext& context, unsigned needs) {
  QualityGatherer(context, needs).run();
}

}  // namespace plumbline
