// Where packets vanish: captures of both ends, half-open sockets, rules and counters.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/ranges.h"
#include "probes/rules/pair_filters.h"
#include "probes/rules/pair_locate.h"

namespace plumbline {
namespace {

// What counters around a burst of connection attempts say about the place where packets are lost,
// for hosts on which nothing could be captured.
class BurstView {
 public:
  // The burst of this pair, as far as it was made for a port of the same fate as this attempt's.
  BurstView(const PairView& view, const PortTry& attempt);

  // Did the requests come as far as the TCP of the other end?
  bool reached_peer_tcp() const { return reached_tcp_; }
  // The first place on the way of the requests (or of the answers) behind which a counter did not
  // rise; nullopt = cannot be told.
  std::optional<StopPlace> place(bool request) const;
  // "40 attempts: 0 packets left through eth1 ..."
  const std::string& text() const { return text_; }

 private:
  struct Count {
    bool known = false, rose = false;
  };
  Count count(const std::map<std::string, int64_t>& counters, const std::string& name);

  int attempts_ = 0;
  Count request_left_, request_came_, answer_left_, answer_came_, in_segments_;
  bool unaddressed_there_ = false, unaddressed_back_ = false;
  bool reached_tcp_ = false, xdp_at_receiver_ = false, xdp_at_sender_ = false;
  std::string text_;
};

constexpr double kRose = 0.7;       // share of the attempts from which a counter has followed them
constexpr int kFewestAttempts = 8;  // fewer drown in other traffic

std::string interface_counter(const HostEvidence* host, const std::string& ip, const char* what) {
  const InterfaceEvidence* carrier = interface_with(host, ip);
  return carrier == nullptr ? std::string() : "if." + carrier->name + "." + what;
}

BurstView::Count BurstView::count(const std::map<std::string, int64_t>& counters,
                                  const std::string& name) {
  const auto found = counters.find(name);
  if (name.empty() || found == counters.end()) return {};
  text_ += fmt::format(", {} +{}", name, found->second);
  return {true, static_cast<double>(found->second) >= kRose * attempts_};
}

BurstView::BurstView(const PairView& view, const PortTry& attempt) {
  if (!view.pair->burst || view.pair->burst->attempts < kFewestAttempts) return;
  const BurstEvidence& burst = *view.pair->burst;
  if (attempt.result != "timeout") return;
  const PairEvidence& pair = *view.pair;
  // What waits for a hardware address is not sent: only requests for the address leave, and it is
  // no filter that keeps the rest.
  unaddressed_there_ = nobody_answers(&pair);
  unaddressed_back_ = nobody_answers(view.back);
  attempts_ = burst.attempts;
  text_ = fmt::format("{} attempts from {}", attempts_, pair.from);
  const std::string egress = egress_of(view);
  const std::string out = egress.empty() ? std::string() : "if." + egress + ".tx_packets";
  request_left_ = count(burst.sender, out);
  text_ += "; on " + pair.to;
  request_came_ = count(burst.receiver, interface_counter(view.to, pair.to_ip, "rx_packets"));
  in_segments_ = count(burst.receiver, "tcp.in_segments");
  answer_left_ = count(burst.receiver, interface_counter(view.to, pair.to_ip, "tx_packets"));
  text_ += "; back on " + pair.from;
  answer_came_ = count(burst.sender, interface_counter(view.from, pair.from_ip, "rx_packets"));
  reached_tcp_ = in_segments_.known && in_segments_.rose &&
                 !(request_left_.known && !request_left_.rose) &&
                 !(request_came_.known && !request_came_.rose);
  if (const auto* device = interface_with(view.to, pair.to_ip)) xdp_at_receiver_ = device->xdp;
  if (const auto* device = interface_with(view.from, pair.from_ip)) xdp_at_sender_ = device->xdp;
}

std::optional<StopPlace> BurstView::place(bool request) const {
  if (attempts_ == 0 || (request ? unaddressed_there_ : unaddressed_back_)) return std::nullopt;
  const Count& left = request ? request_left_ : answer_left_;
  const Count& came = request ? request_came_ : answer_came_;
  if (left.known && !left.rose) return StopPlace::kSender;
  if (came.known && !came.rose) {
    if (request ? xdp_at_receiver_ : xdp_at_sender_) return StopPlace::kReceiver;
    if (left.known) return StopPlace::kPath;
    return std::nullopt;
  }
  if (came.known && came.rose) return StopPlace::kReceiver;
  return std::nullopt;
}

class LostPackets {
 public:
  explicit LostPackets(PortWitness& witness) : w_(witness) {}

  bool lost() {
    const bool late = state_of(w_.attempt) == PortState::kNoReply;
    // Did the request reach the peer's system? Then it is the answer that suffers.
    const bool reached =
        w_.attempt.half_open || w_.attempt.accepted ||
        w_.seen(w_.attempt.captured_there, w_.to_there, &TraceDirection::syn_ack).value_or(false) ||
        w_.seen(w_.attempt.captured_here, w_.to_here, &TraceDirection::syn_ack).value_or(false);
    const BurstView burst(w_.view, w_.attempt);
    w_.block.request = late ? !w_.attempt.accepted : !reached && !counted_at_peer(burst);
    const Leg suffering = w_.leg(w_.block.request, late);
    if (!late && w_.attempt.half_open) {
      w_.say(w_.pair.to,
             fmt::format("the kernel of {} holds the connection half open: the SYN came in",
                         w_.pair.to));
    }
    narrow_by_captures(suffering);
    const std::vector<StopPlace> captured = w_.block.places;
    narrow_by_rule();
    narrow_by_counters(burst, captured);
    if (!w_.block.known()) narrow_by_readable_filters();
    return true;
  }

 private:
  void narrow_by_captures(const Leg& suffering) {
    w_.block.places = {StopPlace::kSender, StopPlace::kPath, StopPlace::kReceiver};
    const std::string& sender = w_.block.sender();
    const std::string& receiver = w_.block.receiver();
    w_.block.confidence = kBySilence;
    if (suffering.left && !*suffering.left) {
      w_.block.places = {StopPlace::kSender};
      w_.block.confidence = kByOneCapture;
      w_.block.proven = true;
      w_.say(sender, fmt::format("{} to {} never appeared on the wire of {} (captured there)",
                                 suffering.packet, receiver, sender));
      return;
    }
    if (suffering.left) {
      w_.block.places = {StopPlace::kPath, StopPlace::kReceiver};
      w_.say(sender, fmt::format("{} left {} (captured there)", suffering.packet, sender));
    }
    if (!suffering.arrived) return;
    if (*suffering.arrived) {
      w_.block.places = {StopPlace::kReceiver};
      w_.block.confidence = suffering.left ? kByCaptures : kByOneCapture;
      w_.block.proven = true;
      w_.say(receiver, fmt::format("{} reached the wire of {} (captured there) and had no effect",
                                   suffering.packet, receiver));
      return;
    }
    w_.say(receiver,
           fmt::format("{} never reached {} (captured there)", suffering.packet, receiver));
    // An XDP program drops before a capture can see the packet.
    if (const auto* device = receiving_interface(); device != nullptr && device->xdp) {
      w_.say(receiver, "an XDP program sits on " + device->name + ": it drops before captures see");
      w_.block.places = {StopPlace::kReceiver};
      w_.block.confidence = kByElimination;
      return;
    }
    w_.block.places.erase(
        std::find(w_.block.places.begin(), w_.block.places.end(), StopPlace::kReceiver));
    if (w_.block.known()) {
      w_.block.confidence = kByCaptures;
      w_.block.proven = true;
    }
  }

  // Linux would hold the connection half open where a listener is there, so that its word is better
  // than a counter's.
  bool counted_at_peer(const BurstView& burst) const {
    const bool would_show = w_.attempt.listener == "up" && w_.view.to != nullptr &&
                            w_.view.to->system == "linux" && w_.view.to->source == "agent";
    return !would_show && burst.reached_peer_tcp();
  }

  const InterfaceEvidence* receiving_interface() const {
    return w_.block.request ? interface_with(w_.view.to, w_.pair.to_ip)
                            : interface_with(w_.view.from, w_.pair.from_ip);
  }

  // A rule that certainly stops these packets, at a place that is still possible.
  void narrow_by_rule() {
    for (const RuleHit& hit : w_.hits) {
      if (!hit.certain || hit.request != w_.block.request || !is_in(w_.block.places, hit.place))
        continue;
      if (leads_to_own_port(hit)) continue;  // somebody answers there, or the host's own RST does
      if (!w_.block.known()) w_.block.confidence = kByRule;
      w_.block.places = {hit.place};
      w_.block.hit = hit;
      w_.block.proven = true;
      return;
    }
    // One that may stop them is worth naming where the place is known already.
    for (const RuleHit& hit : w_.hits) {
      if (hit.certain || hit.share < 1 || hit.request != w_.block.request) continue;
      if (w_.block.at(hit.place)) w_.block.hit = hit;
    }
  }

  // Counters err on one side only: other traffic lets them rise, nothing keeps them from rising. So
  // they may move the place nearer to the sender than a rule says, never further away.
  void narrow_by_counters(const BurstView& burst, const std::vector<StopPlace>& possible) {
    const auto place = burst.place(w_.block.request);
    if (!place || possible.size() == 1 || !is_in(possible, *place)) return;
    if (w_.block.known() && w_.block.places[0] <= *place) {
      if (w_.block.hit) w_.say(w_.block.sender(), burst.text());
      return;
    }
    w_.block.places = {*place};
    w_.block.hit.reset();
    w_.block.confidence = kByCounters;
    w_.block.proven = true;
    w_.say(w_.block.sender(), burst.text());
  }

  void narrow_by_readable_filters() {
    std::vector<StopPlace> left = w_.block.places;
    for (const StopPlace place : {StopPlace::kSender, StopPlace::kReceiver}) {
      const HostEvidence* owner = w_.host(w_.block.request, place);
      const bool named = any_of(w_.hits, [&](const RuleHit& hit) {
        return hit.host == owner && hit.request == w_.block.request && hit.place == place;
      });
      if (!filters_readable(owner) || named || !is_in(left, place)) continue;
      w_.say(owner->name, "no rule of its filters stops these packets");
      left.erase(std::find(left.begin(), left.end(), place));
    }
    if (left.empty() || left.size() == w_.block.places.size()) return;
    w_.block.places = left;
    w_.block.confidence = kByElimination;
  }

  PortWitness& w_;
};

}  // namespace

bool locate_lost(PortWitness& witness) { return LostPackets(witness).lost(); }

}  // namespace plumbline
