// What a host's filters do with one packet: walks the hooks that the packet passes, in their order,
// as the kernel would, and returns the first rule that stops it. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

struct FilterPacket {
  bool incoming = true;  // to this host; false: produced by it
  std::string protocol = "tcp";
  std::string source_ip, destination_ip;
  int source_port = 40000, destination_port = 0;
  std::string interface;  // it comes in or goes out through; empty = unknown (may match)
  // Interfaces below that one which it passes too: members of a bond or bridge, parent of a VLAN.
  std::vector<std::string> lower;
  bool bridge = false;    // `interface` is a bridge: the hooks of bridges are asked
  bool first = true;      // a SYN (conntrack state new); false: belongs to an established flow
  bool reply = false;     // from the end that was called (with first = false)
  std::string tcp_flags;  // "syn,ack"; empty: SYN when first, SYN and ACK for a reply, else ACK
  int length = 60;        // bytes of the IP packet
};

struct FilterVerdict {
  // "drop", "reject", "redirect" (goes to somebody else), or "unknown" (a rule with a condition
  // that cannot be decided could stop it; what comes behind is judged as if it did not).
  std::string action = "accept";
  const FilterRule* rule = nullptr;  // into the vector that was handed in; the rule that decides
  double share = 1.0;                // of such packets that it stops here
  std::string hook;                  // where
  // Of a policy: the return or goto of the base chain itself by which the packet came to it, if
  // any.
  const FilterRule* left_by = nullptr;
};

// All that can stop this packet (several when the first ones stop only a share or are unknown),
// first first; empty = passes. `protocol` "arp" asks the filters of ARP. Work is bounded: rules
// that jump to each other without end give an "unknown".
std::vector<FilterVerdict> evaluate(const std::vector<FilterRule>& rules,
                                    const FilterPacket& packet);

// Does one condition of a rule hold for one packet (match_packet.cc)? Three answers, because much
// of what a filter can ask (marks of other programs, rates, users, times) cannot be known from
// outside: no, maybe, yes.
enum class Tri { kNo, kMaybe, kYes };

Tri both(Tri a, Tri b);

// A packet at one place of its way.
struct PacketAt {
  const FilterPacket* packet = nullptr;
  std::string hook;                     // as in FilterRule
  std::vector<std::string> interfaces;  // names that it has there; an empty name = unknown
  Tri tracked = Tri::kNo;               // connection tracking has seen it
  Tri untracked = Tri::kNo;             // a rule took it out of connection tracking
  Tri marked = Tri::kNo;                // a rule gave it a mark (until then it is 0)
};

// "ip", "ip6" or "arp".
std::string family_of(const FilterPacket& packet);
// Is this a hook of packets that come in?
bool is_incoming_hook(const std::string& hook);

Tri holds(const FilterMatch& match, const PacketAt& at);
// All conditions of the rule.
Tri holds(const FilterRule& rule, const PacketAt& at);

// "nftables inet filter input handle 7: tcp dport 29600 drop".
std::string describe(const FilterRule& rule);

// What remedy_for_rule has to know besides the rule itself.
struct RemedyFor {
  // The ports are this host's own (packets come from the peer); otherwise they are the peer's.
  bool incoming = true;
  std::string own_ip, peer_ip;
  std::vector<int> ports;
  // Where the packet met the rule (FilterVerdict::hook), for chains that are jumped to; empty: such
  // a chain may be passed by packets of both directions, and gets a rule for each.
  std::string hook;
  // FilterVerdict::left_by: an accepting rule helps only before that one.
  const FilterRule* left_by = nullptr;
  // Front ends that are known to be active on the host: "ufw", "firewalld". Their chains are then
  // changed by their own command.
  std::vector<std::string> front_ends;
};

// The exact commands, to be run as root on that host, that let TCP between these two
// addresses to these ports through although `rule` stops it, and that change nothing else: an
// accepting rule put just before it in its own chain, for the packets of such connections that pass
// this chain (the first ones and those of the caller, or the answers). Never switches a firewall
// off. Empty when there is no such command: addresses or names that are none, a rule of the other
// address family, a tool whose rules cannot be inserted.
Remedy remedy_for_rule(const FilterRule& rule, const RemedyFor& what);

}  // namespace plumbline
