#include "probes/rules/pair_counters.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

constexpr double kRose = 0.7;       // share of the attempts from which a counter has followed them
constexpr int kFewestAttempts = 8;  // fewer drown in other traffic

std::string interface_counter(const HostEvidence* host, const std::string& ip, const char* what) {
  const InterfaceEvidence* carrier = interface_with(host, ip);
  return carrier == nullptr ? std::string() : "if." + carrier->name + "." + what;
}

}  // namespace

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

}  // namespace plumbline
