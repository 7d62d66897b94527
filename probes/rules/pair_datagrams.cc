
#include <algorithm>

#include "core/ranges.h"
#include "probes/rules/pair_loss.h"

namespace plumbline {
namespace {

constexpr int64_t kFewestSent = 100;
// Where fewer pass, TCP could not work either: that is a filter for datagrams.
constexpr double kFewestPass = 0.1;
// A filter that rations lets as many pass a second, whatever comes: a slower stream fares better.
constexpr double kRationed = 1.15;             // share that passes when slow / when fast
constexpr int64_t kSecondSynNs = 900'000'000;  // a lost SYN is sent again after 1 s (RFC 6298)

struct Count {
  int64_t lost = 0, sent = 0;
  std::pair<double, double> interval() const { return wilson_interval(lost, sent); }
  double passed() const {
    return sent == 0 ? 0 : 1 - static_cast<double>(lost) / static_cast<double>(sent);
  }
};

Count count(const PairEvidence& pair, bool alone) {
  Count out;
  for (const DatagramEvidence& stream : pair.quality->datagrams) {
    if (stream.alone != alone || stream.sent <= 0) continue;
    out.sent += stream.sent;
    out.lost += std::max<int64_t>(0, stream.sent - stream.received - stream.overflow);
  }
  return out;
}

// What the paced streams of one direction met. Those that ran alone go first.
struct PacedWord {
  TcpLosses losses = TcpLosses::kUnknown;
  bool exact = false;  // counted at both ends: it is about this very direction
};

PacedWord paced_word(const EvidenceSet& evidence, const PairEvidence* pair) {
  if (pair == nullptr || !pair->quality) return {};
  const LossShare share = paced_loss({&evidence, pair, nullptr, nullptr, nullptr});
  const auto& streams = pair->quality->streams;
  const auto any = [&](auto&& wanted) {
    return any_of(streams, [&](const StreamEvidence& s) { return s.kind == "paced" && wanted(s); });
  };
  // One that ended well alone tells more than one that broke before.
  const bool settled =
      any([](const StreamEvidence& s) { return s.alone && s.error.empty() && s.segments_in > 0; });
  const bool broken =
      any([&](const StreamEvidence& s) { return !s.error.empty() && (s.alone || !settled); });
  if (broken || share.lost >= kFewestLost) return {TcpLosses::kSome, share.exact};
  if (share.sent == 0) return {};
  return {TcpLosses::kNone, share.exact && share.sent >= kFewestSent};
}

bool connects_slowly(const PairEvidence* pair) {
  if (pair == nullptr) return false;
  bool connected = false, slow = false;
  for (const PortTry& attempt : pair->ports) {
    connected = connected || attempt.result == "connected";
    slow = slow || (attempt.result == "connected" && attempt.took_ns >= kSecondSynNs) ||
           attempt.result == "timeout";
  }
  return connected && slow;
}

}  // namespace

DatagramLoss datagram_loss(const EvidenceSet& evidence, const PairEvidence* pair) {
  DatagramLoss out;
  if (pair == nullptr || !pair->quality) return out;
  const Count first = count(*pair, false), alone = count(*pair, true);
  out.again = alone.sent >= kFewestSent;
  const Count& best = out.again ? alone : first;
  if (best.sent < kFewestSent || best.passed() < kFewestPass) return out;
  out.measured = true;
  out.lost = best.lost;
  out.sent = best.sent;
  out.share = 1 - best.passed();
  std::tie(out.low, out.high) = best.interval();
  out.rationed = out.again && first.sent >= kFewestSent &&
                 first.interval().first > alone.interval().second &&
                 alone.passed() > kRationed * first.passed();
  const double limit = loss_limit(evidence);
  // As for TCP's streams: an estimate of half the limit may still be a loss of the limit's size.
  out.seen =
      !out.rationed && out.lost >= kFewestLost && out.share >= limit / 2 && out.low > limit / 10;
  return out;
}

TcpLosses tcp_losses(const PairView& view) {
  const TcpLosses there = paced_word(*view.evidence, view.pair).losses;
  const TcpLosses back = paced_word(*view.evidence, view.back).losses;
  if (there == TcpLosses::kSome || back == TcpLosses::kSome) return TcpLosses::kSome;
  if (there == TcpLosses::kNone && back == TcpLosses::kNone) return TcpLosses::kNone;
  const bool slow = connects_slowly(view.pair) || connects_slowly(view.back);
  return slow ? TcpLosses::kSome : TcpLosses::kUnknown;
}

bool datagrams_decide(const PairView& view) {
  const PacedWord word = paced_word(*view.evidence, view.pair);
  if (word.losses == TcpLosses::kNone && word.exact) return false;
  const TcpLosses tcp = tcp_losses(view);
  if (tcp != TcpLosses::kUnknown) return tcp == TcpLosses::kSome;
  return datagram_loss(*view.evidence, view.pair).again;
}

bool loses_nothing(const PairView& view) {
  const EvidenceSet& evidence = *view.evidence;
  const PacedWord word = paced_word(evidence, view.pair);
  if (word.exact && word.losses == TcpLosses::kNone) return true;
  const LossShare segments = paced_loss(view);
  if (segments.exact && segments.seen) return false;
  const DatagramLoss loss = datagram_loss(evidence, view.pair);
  return loss.measured && !loss.rationed && !loss.seen && datagram_loss(evidence, view.back).seen;
}

}  // namespace plumbline
