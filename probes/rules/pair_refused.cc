// Who refuses a connection: the listener's host, the connecting host itself, or a device between.
#include <fmt/format.h>

#include "core/clock.h"
#include "core/host/ip.h"
#include "probes/rules/pair_locate.h"

namespace plumbline {
namespace {

// A refusal that takes less was not waited for: far below the second between two requests for a
// hardware address.
constexpr int64_t kAtOnceNs = 200 * kMillisecond;

class RefusedPackets {
 public:
  explicit RefusedPackets(PortWitness& witness) : w_(witness) {}

  bool refused_by(StopPlace place, double confidence) {
    w_.block.places = {place};
    w_.block.confidence = confidence;
    return true;
  }

  const RuleHit* rule_at(StopPlace place, bool only_refusing) const {
    for (const RuleHit& hit : w_.hits) {
      if (!hit.certain || !hit.request || hit.place != place) continue;
      if (!only_refusing || hit.how != How::kDrop) return &hit;
    }
    return nullptr;
  }
  bool refused_by_rule() {
    for (const StopPlace place : {StopPlace::kSender, StopPlace::kReceiver}) {
      if (const RuleHit* hit = rule_at(place, true)) {
        w_.block.hit = *hit;
        w_.block.how = hit->how;
        w_.block.proven = true;
        return refused_by(place, kByRule);
      }
    }
    return false;
  }
  void name_rule() {
    if (!w_.block.known() || w_.block.hit) return;
    const RuleHit* hit = rule_at(w_.block.places[0], true);
    if (hit == nullptr) return;
    w_.block.hit = *hit;
    if (icmp_of(w_.attempt) == nullptr) w_.block.how = hit->how;
  }

  bool rejected() {
    const TraceIcmp& icmp = *icmp_of(w_.attempt);
    w_.block.how = How::kRejectIcmp;
    w_.say(w_.pair.from,
           fmt::format("ICMP{} from {} ended it: {}", icmp.v6 ? "v6" : "",
                       icmp.from.empty() ? "an unknown sender" : icmp.from,
                       icmp.text.empty() ? fmt::format("type {} code {}", icmp.type, icmp.code)
                                         : icmp.text));
    const Leg syn = w_.leg(true, false);
    const bool own = owns_address(w_.view.from, icmp.from) || icmp.from == w_.pair.from_ip ||
                     is_loopback_ip(icmp.from);
    if (own && may_lack_neighbour(icmp)) {
      return rule_at(StopPlace::kSender, true) != nullptr && own_output();
    }
    if (own && syn.left && *syn.left) return own_input();
    if (own || (syn.left && !*syn.left)) return own_output();
    w_.block.proven = true;
    if (syn.arrived && !*syn.arrived) {
      w_.say(w_.pair.to,
             fmt::format("the SYN never reached {} (captured there): a device on the way "
                         "refused it",
                         w_.pair.to));
      w_.block.device = icmp.from;
      return refused_by(StopPlace::kPath, kByCaptures);
    }
    if (icmp.from == w_.pair.to_ip || owns_address(w_.view.to, icmp.from) || icmp.from.empty()) {
      const bool ok = refused_by(StopPlace::kReceiver, syn.arrived ? kByCaptures : kByOneCapture);
      name_rule();
      return ok;
    }
    w_.block.device = icmp.from;
    w_.block.router = owner_of(*w_.view.evidence, icmp.from);
    return refused_by(StopPlace::kPath, kByOneCapture);
  }

  // A host's own kernel says "host unreachable" to itself when nobody answers its ARP requests,
  // but not before it has repeated them for seconds. A filter says it at once; where the peer did
  // answer nothing but a filter is left.
  bool may_lack_neighbour(const TraceIcmp& icmp) const {
    if (icmp.code != (icmp.v6 ? 3 : 1)) return false;
    const std::optional<NeighbourProbe>& probe = w_.pair.neighbour;
    const bool on_link = probe && probe->on_link;
    // The answer may reach our own question and not the kernel's.
    if (on_link && (probe->kernel_state == "FAILED" || probe->kernel_state == "INCOMPLETE")) {
      return true;
    }
    if (nobody_answers(&w_.pair)) return true;
    if (on_link && neighbour_answers()) return false;
    return w_.attempt.took_ns >= kAtOnceNs;
  }

  // The SYN left, so that it is the answer that the connecting host's own filter refused.
  bool own_input() {
    w_.say(w_.pair.from, w_.pair.from + " itself refused the answer that came in");
    w_.block.request = false;
    w_.block.proven = true;
    refused_by(StopPlace::kReceiver, kByCaptures);
    for (const RuleHit& hit : w_.hits) {
      if (hit.certain && !hit.request && hit.place == StopPlace::kReceiver && !w_.block.hit) {
        w_.block.hit = hit;
      }
    }
    return true;
  }

  bool own_output() {
    w_.say(w_.pair.from, w_.pair.from + " itself refused the packet before it reached its wire");
    w_.block.proven = true;
    refused_by(StopPlace::kSender, kByOneCapture);
    name_rule();
    return true;
  }

  bool reset() {
    w_.block.how = How::kRejectRst;
    const Leg syn = w_.leg(true, false);
    const auto rst_left = w_.seen(w_.attempt.captured_there, w_.to_there, &TraceDirection::rst);
    const auto rst_came = w_.seen(w_.attempt.captured_here, w_.to_here, &TraceDirection::rst);
    w_.say(w_.pair.to, fmt::format("somebody listens on port {} of {} and never saw the connection",
                                   w_.attempt.port, w_.pair.to));
    if (syn.left && !*syn.left) return own_output();
    if (syn.arrived && !*syn.arrived) return device_reset("the SYN never reached it");
    if (rst_left && !*rst_left) {
      if (rst_came.value_or(true)) return device_reset("no RST left it");
    } else if (rst_left) {
      w_.say(w_.pair.to, "the RST left the wire of " + w_.pair.to + " (captured there)");
      w_.block.proven = true;
      refused_by(StopPlace::kReceiver, kByCaptures);
      name_rule();
      return true;
    }
    if (refused_by_rule()) return true;
    return refused_by_either(syn, kByElimination);
  }

  // Nothing tells the two ends apart; the pattern of all pairs may.
  bool refused_by_either(const Leg& syn, double confidence) {
    refused_by(StopPlace::kReceiver, confidence);
    if (!syn.left) w_.block.places = {StopPlace::kSender, StopPlace::kReceiver};
    return true;
  }

  bool device_reset(const std::string& what) {
    w_.say(w_.pair.to, fmt::format("{} (captured there): a device on the way answered for {}", what,
                                   w_.pair.to));
    w_.block.proven = true;
    return refused_by(StopPlace::kPath, kByCaptures);
  }

  bool unreachable() {
    w_.block.how = How::kRejectIcmp;
    if (refused_by_rule()) return true;
    if (w_.attempt.error == "ENETUNREACH") return false;  // its own routing table said so
    const Leg syn = w_.leg(true, false);
    if (!syn.left) return refused_by_either(syn, kBySilence);
    if (*syn.left) return refused_by(StopPlace::kReceiver, kByElimination);
    if (!neighbour_answers()) return false;
    refused_by(StopPlace::kSender, kByElimination);
    w_.say(w_.pair.from,
           fmt::format("nothing left the wire of {} (captured there), though {} answers "
                       "on the link",
                       w_.pair.from, w_.pair.to));
    return true;
  }
  bool neighbour_answers() const {
    return w_.pair.neighbour && (!w_.pair.neighbour->on_link || !w_.pair.neighbour->macs.empty() ||
                                 !w_.pair.neighbour->kernel_mac.empty());
  }

  bool denied() {
    w_.say(w_.pair.from, fmt::format("the system of {} does not let the packet out: {}",
                                     w_.pair.from, w_.attempt.error));
    refused_by(StopPlace::kSender, kByOneCapture);
    if (const RuleHit* hit = rule_at(StopPlace::kSender, false)) w_.block.hit = *hit;
    return true;
  }

 private:
  PortWitness& w_;
};

}  // namespace

bool locate_rejected(PortWitness& witness) { return RefusedPackets(witness).rejected(); }
bool locate_reset(PortWitness& witness) { return RefusedPackets(witness).reset(); }
bool locate_unreachable(PortWitness& witness) { return RefusedPackets(witness).unreachable(); }
bool locate_denied(PortWitness& witness) { return RefusedPackets(witness).denied(); }

}  // namespace plumbline
