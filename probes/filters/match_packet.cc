#include <algorithm>

#include "core/host/ip.h"
#include "probes/filters/evaluate.h"
#include "probes/filters/filter_values.h"

namespace plumbline {
namespace {

Tri negate(Tri value) {
  if (value == Tri::kMaybe) return value;
  return value == Tri::kYes ? Tri::kNo : Tri::kYes;
}

Tri tri(const std::optional<bool>& value) {
  if (!value) return Tri::kMaybe;
  return *value ? Tri::kYes : Tri::kNo;
}
Tri tri(bool value) { return value ? Tri::kYes : Tri::kNo; }

bool only_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// A packet that goes out has no name of an interface that it came in by, and the other way round:
// the kernel then compares with an empty name.
Tri interface_is(const std::string& value, const PacketAt& at, bool incoming) {
  if (is_incoming_hook(at.hook) != incoming) return tri(name_matches(value, ""));
  if (value == "*") return Tri::kYes;
  if (only_digits(value)) return Tri::kMaybe;  // an index whose name is gone
  size_t matching = 0;
  for (const std::string& name : at.interfaces) {
    if (name.empty()) return Tri::kMaybe;
    if (name_matches(value, name)) ++matching;
  }
  if (matching == 0) return Tri::kNo;
  return matching == at.interfaces.size() ? Tri::kYes : Tri::kMaybe;
}

Tri address_is(const std::string& value, const PacketAt& at, bool source) {
  const auto address = parse_zoned_ip(source ? at.packet->source_ip : at.packet->destination_ip);
  if (!address) return Tri::kMaybe;
  return tri(address_matches(value, *address));
}

Tri address_type_is(const std::string& value, const PacketAt& at, bool source) {
  const bool both_local = at.packet->interface == "lo";
  const bool local = both_local || source != at.packet->incoming;
  if (value == "local") return tri(local);
  if (value == "unicast") return tri(!local);
  return Tri::kNo;  // broadcast, multicast, blackhole ...: TCP goes from host to host
}

bool has_ports(const FilterPacket& packet) {
  return packet.protocol == "tcp" || packet.protocol == "udp" || packet.protocol == "sctp";
}

Tri port_is(const std::string& value, const PacketAt& at, bool source) {
  const int port = source ? at.packet->source_port : at.packet->destination_port;
  if (!has_ports(*at.packet)) return Tri::kNo;
  if (port <= 0) return Tri::kMaybe;
  return tri(number_matches(value, port));
}

Tri state_is(const std::string& value, const PacketAt& at, bool) {
  if (value == "snat" || value == "dnat") return Tri::kNo;
  if (at.untracked == Tri::kMaybe || at.tracked == Tri::kMaybe) return Tri::kMaybe;
  if (at.untracked == Tri::kYes) return tri(value == "untracked");
  // Asked before connection tracking has run, the kernel answers "invalid".
  if (at.tracked == Tri::kNo) return tri(value == "invalid");
  return tri(value == (at.packet->first ? "new" : "established"));
}

Tri status_is(const std::string& value, const PacketAt& at, bool) {
  // What translates the address to another one has already been judged, as a redirect.
  if (value == "snat" || value == "dnat") return Tri::kNo;
  if (value == "confirmed" || value == "seen-reply")
    return both(at.tracked, tri(!at.packet->first));
  return Tri::kMaybe;
}

Tri direction_is(const std::string& value, const PacketAt& at, bool) {
  if (at.tracked != Tri::kYes || at.untracked != Tri::kNo) return Tri::kMaybe;
  return tri(value == (at.packet->reply ? "reply" : "original"));
}

std::optional<unsigned> flag_bits(const std::string& text) {
  unsigned bits = 0;
  for (const std::string& word : split_words(text, ',')) {
    if (word == "none") continue;
    if (word == "all") {
      bits |= 0x3f;
      continue;
    }
    const auto at = std::find(kTcpFlags.begin(), kTcpFlags.end(), word);
    if (at == kTcpFlags.end()) return std::nullopt;
    bits |= 1U << static_cast<unsigned>(at - kTcpFlags.begin());
  }
  return bits;
}

Tri tcp_flags_are(const std::string& value, const PacketAt& at, bool) {
  const FilterPacket& packet = *at.packet;
  if (packet.protocol != "tcp") return Tri::kNo;
  std::string own = packet.tcp_flags;
  if (own.empty()) own = packet.first ? "syn" : (packet.reply ? "syn,ack" : "ack");
  const auto flags = flag_bits(own);
  const size_t slash = value.find('/');
  const std::string wanted = value.substr(0, slash);
  const auto mask =
      flag_bits(slash == std::string::npos ? "fin,syn,rst,ack" : value.substr(slash + 1));
  if (!flags || !mask) return Tri::kMaybe;
  if (wanted == "any") return tri((*flags & *mask) != 0);
  const auto compare = flag_bits(wanted);
  if (!compare) return Tri::kMaybe;
  return tri((*flags & *mask) == *compare);
}

Tri mark_is(const std::string& value, const PacketAt& at, bool) {
  if (at.marked != Tri::kNo) return Tri::kMaybe;
  const size_t slash = value.find('/');
  return tri(number_matches(value.substr(0, slash), 0));
}

Tri packet_type_is(const std::string& value, const PacketAt& at, bool) {
  if (at.packet->protocol == "arp") return Tri::kMaybe;
  return tri(value == "unicast" || value == "host");
}

Tri protocol_is(const std::string& value, const PacketAt& at, bool) {
  return tri(value == at.packet->protocol);
}

Tri length_is(const std::string& value, const PacketAt& at, bool) {
  return tri(number_matches(value, at.packet->length));
}

Tri family_is(const std::string& value, const PacketAt& at, bool) {
  return tri(value == family_of(*at.packet));
}

struct KeyRow {
  const char* name;
  Tri (*is)(const std::string& value, const PacketAt& at, bool first);
  bool first = true;  // of two that are asked alike: where it comes in, who sends it
};

// Every key of FilterMatch that can be decided.
constexpr KeyRow kKeys[] = {
    {"iif", interface_is, true},
    {"oif", interface_is, false},
    {"saddr", address_is, true},
    {"daddr", address_is, false},
    {"saddr_type", address_type_is, true},
    {"daddr_type", address_type_is, false},
    {"protocol", protocol_is},
    {"sport", port_is, true},
    {"dport", port_is, false},
    {"state", state_is},
    {"status", status_is},
    {"direction", direction_is},
    {"tcp_flags", tcp_flags_are},
    {"length", length_is},
    {"family", family_is},
    {"pkttype", packet_type_is},
    {"mark", mark_is},
};

}  // namespace

Tri both(Tri a, Tri b) { return std::min(a, b); }

std::string family_of(const FilterPacket& packet) {
  if (packet.protocol == "arp") return "arp";
  return packet.destination_ip.find(':') == std::string::npos ? "ip" : "ip6";
}

bool is_incoming_hook(const std::string& hook) {
  return hook == "ingress" || hook == "prerouting" || hook == "input";
}

Tri holds(const FilterMatch& match, const PacketAt& at) {
  const KeyRow* row = find_row(kKeys, match.key);
  if (row == nullptr) return Tri::kMaybe;
  Tri any = Tri::kNo;
  for (const std::string& value : match.values) {
    any = std::max(any, row->is(value, at, row->first));
    if (any == Tri::kYes) break;
  }
  return match.negated ? negate(any) : any;
}

Tri holds(const FilterRule& rule, const PacketAt& at) {
  Tri all = Tri::kYes;
  for (const FilterMatch& match : rule.matches) {
    all = both(all, holds(match, at));
    if (all == Tri::kNo) break;
  }
  return all;
}

}  // namespace plumbline
