#include "probes/filters/match_packet.h"

#include <algorithm>
#include <array>

#include "core/host/ip.h"
#include "probes/filters/net_values.h"

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

Tri address_is(const std::string& value, const std::string& ip) {
  const auto address = parse_zoned_ip(ip);
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

Tri port_is(const std::string& value, const FilterPacket& packet, int port) {
  if (!has_ports(packet)) return Tri::kNo;
  if (port <= 0) return Tri::kMaybe;
  return tri(number_matches(value, port));
}

Tri state_is(const std::string& value, const PacketAt& at) {
  if (value == "snat" || value == "dnat") return Tri::kNo;
  if (at.untracked == Tri::kMaybe || at.tracked == Tri::kMaybe) return Tri::kMaybe;
  if (at.untracked == Tri::kYes) return tri(value == "untracked");
  // Asked before connection tracking has run, the kernel answers "invalid".
  if (at.tracked == Tri::kNo) return tri(value == "invalid");
  return tri(value == (at.packet->first ? "new" : "established"));
}

Tri status_is(const std::string& value, const PacketAt& at) {
  // What translates the address to another one has already been judged, as a redirect.
  if (value == "snat" || value == "dnat") return Tri::kNo;
  if (value == "confirmed" || value == "seen-reply")
    return both(at.tracked, tri(!at.packet->first));
  return Tri::kMaybe;
}

Tri direction_is(const std::string& value, const PacketAt& at) {
  if (at.tracked != Tri::kYes || at.untracked != Tri::kNo) return Tri::kMaybe;
  return tri(value == (at.packet->reply ? "reply" : "original"));
}

constexpr std::array<const char*, 8> kFlags = {"fin", "syn", "rst", "psh",
                                               "ack", "urg", "ecn", "cwr"};

std::optional<unsigned> flag_bits(const std::string& text) {
  unsigned bits = 0;
  for (const std::string& word : split_words(text, ',')) {
    if (word == "none") continue;
    if (word == "all") {
      bits |= 0x3f;
      continue;
    }
    const auto at = std::find(kFlags.begin(), kFlags.end(), word);
    if (at == kFlags.end()) return std::nullopt;
    bits |= 1U << static_cast<unsigned>(at - kFlags.begin());
  }
  return bits;
}

Tri tcp_flags_are(const std::string& value, const FilterPacket& packet) {
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

Tri mark_is(const std::string& value, const PacketAt& at) {
  if (at.marked != Tri::kNo) return Tri::kMaybe;
  const size_t slash = value.find('/');
  return tri(number_matches(value.substr(0, slash), 0));
}

Tri packet_type_is(const std::string& value, const PacketAt& at) {
  if (at.packet->protocol == "arp") return Tri::kMaybe;
  return tri(value == "unicast" || value == "host");
}

struct KeyRow {
  const char* key;
  Tri (*is)(const std::string& value, const PacketAt& at);
};

// Every key of FilterMatch that can be decided.
constexpr KeyRow kKeys[] = {
    {"iif",
     [](const std::string& value, const PacketAt& at) { return interface_is(value, at, true); }},
    {"oif",
     [](const std::string& value, const PacketAt& at) { return interface_is(value, at, false); }},
    {"saddr", [](const std::string& value,
                 const PacketAt& at) { return address_is(value, at.packet->source_ip); }},
    {"daddr", [](const std::string& value,
                 const PacketAt& at) { return address_is(value, at.packet->destination_ip); }},
    {"saddr_type",
     [](const std::string& value, const PacketAt& at) { return address_type_is(value, at, true); }},
    {"daddr_type", [](const std::string& value,
                      const PacketAt& at) { return address_type_is(value, at, false); }},
    {"protocol", [](const std::string& value,
                    const PacketAt& at) { return tri(value == at.packet->protocol); }},
    {"sport",
     [](const std::string& value, const PacketAt& at) {
       return port_is(value, *at.packet, at.packet->source_port);
     }},
    {"dport",
     [](const std::string& value, const PacketAt& at) {
       return port_is(value, *at.packet, at.packet->destination_port);
     }},
    {"state", state_is},
    {"status", status_is},
    {"direction", direction_is},
    {"tcp_flags",
     [](const std::string& value, const PacketAt& at) { return tcp_flags_are(value, *at.packet); }},
    {"length", [](const std::string& value,
                  const PacketAt& at) { return tri(number_matches(value, at.packet->length)); }},
    {"family", [](const std::string& value,
                  const PacketAt& at) { return tri(value == family_of(*at.packet)); }},
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
  const auto row = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [&](const KeyRow& key) { return match.key == key.key; });
  if (row == std::end(kKeys)) return Tri::kMaybe;
  Tri any = Tri::kNo;
  for (const std::string& value : match.values) {
    any = std::max(any, row->is(value, at));
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
