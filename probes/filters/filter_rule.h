// One rule of a packet filter, whatever tool made it, in one normal form: where it sits, what it
// matches, what it does. Read from nftables, iptables (both kinds), ebtables and tc by the parsers
// beside this file, judged for a packet by evaluate.h. Plain values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace plumbline {

// One condition. `key` is of a closed list (match_packet.cc has the table):
//   "iif", "oif"          interface names, "eth*" for all that begin so
//   "saddr", "daddr"      addresses, prefixes, ranges "a-b", "address/mask"
//   "saddr_type", "daddr_type"  "local", "unicast", "broadcast" ...
//   "protocol"            "tcp", "udp", "icmp", "icmpv6"
//   "sport", "dport"      ports and ranges "a-b"
//   "state"               conntrack: "new", "established", "related", "invalid", "untracked"
//   "status", "direction" conntrack: "dnat", "seen-reply" ...; "original", "reply"
//   "tcp_flags"           "syn" (SYN without ACK), "syn/syn,ack" (these of those), "any/syn,ack"
//   "length"              range of packet lengths in bytes
//   "family"              "ip", "ip6", "arp"
//   "pkttype"             "unicast", "broadcast", "multicast"
//   "mark"                "0x10/0xff"
//   "limit"               a rate: whether it matches depends on the traffic
//   "other"               not understood: `values` holds its text; it may or may not match
struct FilterMatch {
  std::string key;
  bool negated = false;
  std::vector<std::string> values;  // any of them
  bool operator==(const FilterMatch&) const = default;
};

struct FilterRule {
  std::string tool;  // "nftables" | "iptables" | "ip6tables" | "ebtables" | "tc" | "pf"
  // Of iptables, ip6tables and ebtables: "legacy" (the old kernel tables), "nft" (kept in
  // nf_tables) or empty (a version that knows only one kind). Says which binary must be called.
  std::string variant;
  std::string family;  // "ip" | "ip6" | "inet" | "bridge" | "netdev" | "arp" | "any"
  std::string table;   // "filter"; for tc the classifier's kind, "flower"
  std::string chain;   // "input", "INPUT"; for tc the chain's index
  // Of a base chain: "ingress" | "prerouting" | "input" | "forward" | "output" | "postrouting" |
  // "egress"; empty for a chain that is only jumped to.
  std::string hook;
  std::string chain_type;  // "nat": only the first packet of a flow asks it
  std::string device;      // for ingress, egress and tc: interfaces, by spaces; or unknown
  int priority = 0;        // lower is asked first among the chains of a hook
  bool is_policy = false;  // the chain's policy, put behind its last rule
  int64_t handle = 0;      // nft's handle, iptables' number in the chain, tc's pref
  std::string id;          // tc's own handle of the filter, "0x1"
  std::vector<FilterMatch> matches;  // all of them
  // "accept" | "drop" | "reject" | "jump" | "goto" | "return" | "redirect" | "continue" (counts,
  // logs, marks, or anything that decides nothing)
  std::string action = "continue";
  std::string target;       // chain of a jump; "1234" or "10.0.0.1:80" of a redirect
  std::string reject_with;  // "tcp reset", "icmp port-unreachable", "icmpx admin-prohibited"
  double share = 1.0;       // of the matching packets that it acts on: numgen, statistic, random
  // What it does besides: "mark" (sets the packet's mark), "notrack" (no connection tracking).
  std::vector<std::string> effects;
  std::string text;  // the rule as its tool prints it
};

void to_json(nlohmann::json& json, const FilterRule& rule);
void from_json(const nlohmann::json& json, FilterRule& rule);

}  // namespace plumbline
