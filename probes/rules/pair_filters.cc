#include "probes/rules/pair_filters.h"

#include <iterator>

#include "core/ranges.h"

namespace plumbline {
namespace {

constexpr int kEphemeralPort = 40000;  // any port of the connecting end
constexpr double kNearlyAll = 0.999;   // a share that is meant to be everything

// The four places, in the order of the packets.
struct Station {
  bool request;  // SYN; else the answer to it
  bool at_sender_of_request;
  StopPlace place;
};
constexpr Station kStations[] = {
    {true, true, StopPlace::kSender},
    {true, false, StopPlace::kReceiver},
    {false, false, StopPlace::kSender},
    {false, true, StopPlace::kReceiver},
};

// The interface as the filters know it: what lies below it, and whether it is a bridge.
void set_interface(FilterPacket& packet, const HostEvidence* host, const std::string& name) {
  packet.interface = name;
  if (host == nullptr || name.empty()) return;
  for (const InterfaceEvidence& interface : host->interfaces) {
    if (interface.master == name) packet.lower.push_back(interface.name);
    if (interface.name != name) continue;
    packet.bridge = interface.kind == "bridge";
    if (!interface.parent.empty()) packet.lower.push_back(interface.parent);
  }
}

FilterPacket packet_at(const Station& station, const PairView& view, int port, int length,
                       const std::string& protocol) {
  FilterPacket packet;
  packet.protocol = protocol;
  packet.incoming = station.place == StopPlace::kReceiver;
  packet.first = station.request;
  packet.reply = !station.request;
  if (length > 0) packet.length = length;
  const PairEvidence& pair = *view.pair;
  packet.source_ip = station.request ? pair.from_ip : pair.to_ip;
  packet.destination_ip = station.request ? pair.to_ip : pair.from_ip;
  packet.source_port = station.request ? kEphemeralPort : port;
  packet.destination_port = station.request ? port : kEphemeralPort;
  const HostEvidence* host = station.at_sender_of_request ? view.from : view.to;
  if (station.request && station.at_sender_of_request) {
    set_interface(packet, host, egress_of(view));
    return packet;
  }
  const auto* carrier =
      interface_with(host, station.at_sender_of_request ? pair.from_ip : pair.to_ip);
  if (carrier != nullptr) set_interface(packet, host, carrier->name);
  return packet;
}

How how_of(const FilterVerdict& verdict) {
  if (verdict.action == "drop") return How::kDrop;
  // A redirect to where nobody listens is answered by the host's own stack.
  if (verdict.action == "redirect") return How::kRejectRst;
  const bool rst =
      verdict.rule != nullptr && verdict.rule->reject_with.find("reset") != std::string::npos;
  return rst ? How::kRejectRst : How::kRejectIcmp;
}

bool whole_space(const std::string& network) {
  return network == "0.0.0.0/0" || network == "::/0" || network == "any";
}

}  // namespace

std::vector<RuleHit> rule_hits(const PairView& view, int port, int length,
                               const std::string& protocol) {
  std::vector<RuleHit> hits;
  for (const Station& station : kStations) {
    const HostEvidence* host = station.at_sender_of_request ? view.from : view.to;
    if (host == nullptr || host->filters.empty()) continue;
    const FilterPacket packet = packet_at(station, view, port, length, protocol);
    for (const FilterVerdict& verdict : evaluate(host->filters, packet)) {
      if (verdict.action == "accept") continue;
      RuleHit hit;
      hit.host = host;
      hit.rule = verdict.rule;
      hit.request = station.request;
      hit.place = station.place;
      hit.how = how_of(verdict);
      hit.redirects = verdict.action == "redirect";
      hit.certain = verdict.action != "unknown" && verdict.share >= kNearlyAll;
      hit.share = verdict.share;
      hits.push_back(hit);
    }
  }
  return hits;
}

bool leads_to_own_port(const RuleHit& hit) {
  if (!hit.redirects || hit.rule == nullptr) return false;
  const std::string& target = hit.rule->target;
  return !target.empty() && target.find_first_not_of("0123456789-") == std::string::npos;
}

bool hits_every_peer(const FilterRule& rule) {
  return none_of(rule.matches, [](const FilterMatch& match) {
    if (match.key == "other") return true;
    if (match.key != "saddr" && match.key != "daddr") return false;
    return none_of(match.values, whole_space);
  });
}

bool stops_every_frame(const FilterRule& rule) {
  const bool device_hook = rule.hook == "ingress" || rule.hook == "egress" || rule.tool == "tc" ||
                           rule.tool == "ebtables" || rule.family == "bridge" ||
                           rule.family == "netdev";
  if (!device_hook || rule.action != "drop") return false;
  return all_of(rule.matches,
                [](const FilterMatch& match) { return match.key == "iif" || match.key == "oif"; });
}

}  // namespace plumbline
