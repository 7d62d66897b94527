// Shapes of filter rules for live_linux_test.cc: how each is made, and what is expected of it.
#pragma once

#include <ostream>

namespace plumbline::test {

struct Shape {
  const char* name;
  const char* setup;   // lines for sh in the namespace; DEV, BRIDGE, OWN, PEER stand for its values
  const char* action;  // expected of the judge: "pass", "drop", "reject", "redirect", "unknown"
  const char* rule;    // part of the text of the rule that must be named
  bool incoming = true;  // the ports are those of the host with the filters
  bool v6 = false;
  int port = 29600;
  bool bridge = false;  // the host's address sits on a bridge over its interface
};

// How a failing test names it.
inline void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }  // NOLINT

// nft reads its rules from standard input here, so that braces need no quoting.
#define NFT(text) "nft -f - <<'EOF'\n" text "\nEOF\n"
#define INPUT(rules)                                                                           \
  NFT("table inet t {\n chain c {\n type filter hook input priority 0; policy accept;\n" rules \
      "\n}\n}")
#define CHAIN(family, hook, rules) \
  NFT("table " family " t {\n chain c {\n type filter " hook ";\n" rules "\n}\n}")

inline constexpr Shape kShapes[] = {
    {"NothingThere", "true", "pass", ""},
    {"NftAcceptOnly", INPUT("tcp dport { 29500, 29600-29650 } accept"), "pass", ""},
    {"NftDropPorts", INPUT("tcp dport { 29500, 29600-29650 } drop"), "drop", "drop"},
    {"NftDropOnePort", INPUT("tcp dport 29601 drop"), "drop", "29601", true, false, 29601},
    {"NftDropOtherPortOnly", INPUT("tcp dport 29650 drop"), "pass", ""},
    {"NftDropTcp", INPUT("meta l4proto tcp drop"), "drop", "l4proto tcp drop"},
    {"NftDropBySource", INPUT("ip saddr PEER drop"), "drop", "saddr"},
    {"NftDropBySourcePrefix", INPUT("ip saddr 10.9.0.0/24 tcp dport != 22 drop"), "drop",
     "10.9.0.0/24"},
    {"NftDropBySourceRange", INPUT("ip saddr 10.9.0.2-10.9.0.7 drop"), "drop", "10.9.0.2-10.9.0.7"},
    {"NftDropOtherSource", INPUT("ip saddr 10.9.0.3 drop"), "pass", ""},
    {"NftDropByInterface", INPUT("iifname \"DEV\" tcp dport > 29000 drop"), "drop", "DEV"},
    {"NftDropByInterfaceWildcard", INPUT("iifname \"w*\" tcp dport > 29000 drop"), "drop", "w*"},
    {"NftDropByOtherInterface", INPUT("iifname \"lo\" drop\niif != DEV drop"), "pass", ""},
    {"NftRejectReset", INPUT("tcp dport { 29500, 29600-29650 } reject with tcp reset"), "reject",
     "tcp reset"},
    {"NftRejectIcmpPortUnreachable", INPUT("meta l4proto tcp reject with icmp port-unreachable"),
     "reject", "port-unreachable"},
    {"NftRejectIcmpHostUnreachable", INPUT("meta l4proto tcp reject with icmp host-unreachable"),
     "reject", "host-unreachable"},
    {"NftRejectIcmpNetUnreachable", INPUT("meta l4proto tcp reject with icmp net-unreachable"),
     "reject", "net-unreachable"},
    {"NftRejectIcmpAdminProhibited", INPUT("meta l4proto tcp reject with icmp admin-prohibited"),
     "reject", "admin-prohibited"},
    {"NftRejectIcmpProtUnreachable", INPUT("meta l4proto tcp reject with icmp prot-unreachable"),
     "reject", "prot-unreachable"},
    {"NftRejectIcmpxInet",
     INPUT("tcp dport { 29500, 29600-29650 } reject with icmpx admin-prohibited"), "reject",
     "icmpx"},
    {"NftRejectV6", INPUT("tcp dport { 29500, 29600-29650 } reject with icmpv6 admin-prohibited"),
     "reject", "icmpv6", true, true},
    {"NftDropV6Source", INPUT("ip6 saddr fd00:9::/64 tcp dport > 29000 drop"), "drop",
     "fd00:9::/64", true, true},
    {"NftDropV4DoesNotHurtV6", INPUT("meta nfproto ipv4 drop"), "pass", "", true, true},
    {"NftPolicyDrop",
     CHAIN(
         "inet", "hook input priority 0; policy drop",
         "ip protocol icmp accept\nicmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"),
     "drop", "policy drop"},
    {"NftPolicyDropV6",
     CHAIN("inet", "hook input priority 0; policy drop",
           "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept"),
     "drop", "policy drop", true, true},
    {"NftPolicyDropWithRightRule",
     CHAIN("inet", "hook input priority 0; policy drop",
           "ct state established,related accept\ntcp dport { 29500, 29600-29603 } ip saddr PEER "
           "accept"),
     "pass", ""},
    {"NftPolicyDropEstablishedOnly",
     CHAIN("inet", "hook input priority 0; policy drop",
           "ct state established,related accept\niif lo accept\nct state invalid drop"),
     "drop", "policy drop"},
    {"NftPolicyDropOutgoingEstablished",
     CHAIN("inet", "hook input priority 0; policy drop", "ct state established,related accept"),
     "pass", "", false},
    {"NftStateNewDropped", INPUT("ct state new tcp dport > 29000 drop"), "drop", "ct state"},
    {"NftStateVmap",
     INPUT(
         "tcp dport > 29000 ct state vmap { established : accept, related : accept, new : drop }"),
     "drop", "vmap"},
    {"NftStateNot", INPUT("tcp dport > 29000 ct state != { established, related } drop"), "drop",
     "ct state"},
    {"NftSynDropped", INPUT("tcp flags & (fin | syn | rst | ack) == syn tcp dport > 29000 drop"),
     "drop", "syn"},
    {"NftSynBitDropped", INPUT("tcp flags syn tcp dport > 29000 drop"), "drop", "syn"},
    {"NftNullScanOnly",
     INPUT("tcp flags & (fin | syn | rst | psh | ack | urg) == 0x0 drop\ntcp flags & (fin | syn) "
           "== fin | syn drop"),
     "pass", ""},
    {"NftNamedSet",
     NFT("table inet t {\n set p { type inet_service; flags interval; elements = { 29500, "
         "29600-29700 }\n}\n chain c {\n type filter hook input priority 0;\n tcp dport @p "
         "drop\n}\n}"),
     "drop", "@p"},
    {"NftEmptySet",
     NFT("table inet t {\n set p { type ipv4_addr; }\n chain c {\n type filter hook input priority "
         "0;\n ip saddr @p drop\n}\n}"),
     "pass", ""},
    {"NftConcatSet",
     NFT("table inet t {\n set p { type ipv4_addr . inet_service; flags interval; elements = { "
         "10.9.0.0/30 . 29500, 10.9.0.0/30 . 29600-29700 }\n}\n chain c {\n type filter hook input "
         "priority 0;\n ip saddr . tcp dport @p drop\n}\n}"),
     "drop", "@p"},
    {"NftVerdictMap", INPUT("tcp dport vmap { 29500 : drop, 29600-29650 : drop, 22 : accept }"),
     "drop", "vmap"},
    {"NftNamedVerdictMap",
     NFT("table inet t {\n map m { type inet_service : verdict; elements = { 29500 : drop, 29600 : "
         "jump u, 29601 : drop, 29602 : goto u, 29603 : drop, 29650 : drop }\n}\n chain u {\n "
         "counter drop\n}\n chain c {\n type filter hook input priority 0;\n tcp dport vmap "
         "@m\n}\n}"),
     "drop", "drop"},
    {"NftInterfaceVmap",
     NFT("table inet t {\n chain u {\n tcp dport > 29000 reject with tcp reset\n}\n chain c {\n "
         "type filter hook input priority 0;\n iifname vmap { \"lo\" : accept, \"DEV\" : jump u "
         "}\n}\n}"),
     "reject", "tcp reset"},
    {"NftJumpDrop",
     NFT("table inet t {\n chain u {\n tcp dport 22 accept\n tcp dport > 29000 drop\n}\n chain c "
         "{\n type filter hook input priority 0;\n jump u\n}\n}"),
     "drop", "dport"},
    {"NftJumpReturn",
     NFT("table inet t {\n chain u {\n tcp dport 29600 return\n drop\n}\n chain c {\n type filter "
         "hook input priority 0;\n iifname \"DEV\" tcp dport 29600 jump u\n}\n}"),
     "pass", ""},
    {"NftGotoEndsAtPolicy",
     NFT("table inet t {\n chain u {\n counter\n}\n chain c {\n type filter hook input priority 0; "
         "policy drop;\n meta l4proto icmp accept\n icmpv6 type != echo-request accept\n goto u\n "
         "accept\n}\n}"),
     "drop", "policy drop"},
    {"NftTwoChainsSecondDrops",
     NFT("table inet a {\n chain c {\n type filter hook input priority -5;\n accept\n}\n}\ntable "
         "inet b {\n chain c {\n type filter hook input priority 5;\n tcp dport > 29000 "
         "drop\n}\n}"),
     "drop", "dport"},
    {"NftEqualPriorities",
     NFT("table inet a {\n chain c {\n type filter hook input priority 0;\n tcp dport > 29000 "
         "drop\n}\n}\ntable inet b {\n chain c {\n type filter hook input priority 0;\n tcp dport "
         "> 28000 reject with tcp reset\n}\n}"),
     "reject", "28000"},
    {"NftDormant",
     NFT("table inet t {\n flags dormant\n chain c {\n type filter hook input priority 0; policy "
         "drop;\n drop\n}\n}"),
     "pass", ""},
    {"NftRawPrerouting",
     CHAIN("ip", "hook prerouting priority -300", "tcp dport { 29500, 29600-29650 } drop"), "drop",
     "drop"},
    {"NftManglePrerouting",
     CHAIN("inet", "hook prerouting priority -150", "tcp dport > 29000 ct state new drop"), "drop",
     "ct state"},
    {"NftRawStateIsInvalid", CHAIN("inet", "hook prerouting priority -300", "ct state new drop"),
     "pass", ""},
    {"NftNotrackThenStateNew",
     NFT("table inet r {\n chain c {\n type filter hook prerouting priority -300;\n "
         "notrack\n}\n}\ntable inet t {\n chain c {\n type filter hook input priority 0;\n tcp "
         "dport > 29000 ct state new drop\n}\n}"),
     "pass", ""},
    {"NftNotrackThenPolicy",
     NFT("table inet r {\n chain c {\n type filter hook prerouting priority -300;\n "
         "notrack\n}\n}\ntable inet t {\n chain c {\n type filter hook input priority 0;\n tcp "
         "dport > 29000 ct state untracked drop\n}\n}"),
     "drop", "untracked"},
    {"NftOutputFirstPackets", CHAIN("inet", "hook output priority 0", "tcp dport > 29000 drop"),
     "drop", "dport", false},
    {"NftOutputPolicy",
     CHAIN(
         "inet", "hook output priority 0; policy drop",
         "icmpv6 type != echo-request accept\nct state established accept\ntcp dport 29650 accept"),
     "drop", "policy drop", false},
    {"NftOutputReject",
     CHAIN("inet", "hook output priority 0", "oifname \"DEV\" tcp dport > 29000 reject"), "reject",
     "reject", false},
    {"NftOutputAnswers", CHAIN("inet", "hook output priority 0", "tcp sport > 29000 drop"), "drop",
     "sport"},
    {"NftInputAnswers", INPUT("tcp sport > 29000 tcp flags ack drop"), "drop", "sport", false},
    {"NftInputReplyDirection", INPUT("ct direction reply tcp sport > 29000 drop"), "drop",
     "direction", false},
    {"NftEstablishedDropped", INPUT("tcp sport 29000-30000 ct state established drop"), "drop",
     "established", false},
    {"NftPostrouting",
     CHAIN("inet", "hook postrouting priority 0", "ip daddr PEER tcp dport > 29000 drop"), "drop",
     "daddr", false},
    {"NftPostroutingAnswers",
     CHAIN("ip", "hook postrouting priority 100", "oifname \"DEV\" tcp sport > 29000 drop"), "drop",
     "sport"},
    {"NftIngress",
     CHAIN("netdev", "hook ingress device \"DEV\" priority 0", "tcp dport > 29000 drop"), "drop",
     "dport"},
    {"NftIngressV6",
     CHAIN("netdev", "hook ingress device \"DEV\" priority 0",
           "ip6 saddr PEER tcp dport > 29000 drop"),
     "drop", "dport", true, true},
    {"NftIngressAnswers",
     CHAIN("netdev", "hook ingress device \"DEV\" priority 0", "tcp sport > 29000 drop"), "drop",
     "sport", false},
    {"NftIngressOtherDevice", CHAIN("netdev", "hook ingress device \"lo\" priority 0", "drop"),
     "pass", ""},
    {"NftIngressTwoDevices",
     CHAIN("netdev", "hook ingress devices = { lo, DEV } priority 0", "tcp dport > 29000 drop"),
     "drop", "dport"},
    {"NftInetIngress",
     CHAIN("inet", "hook ingress device \"DEV\" priority 0", "tcp dport > 29000 drop"), "drop",
     "dport"},
    {"NftEgress",
     CHAIN("netdev", "hook egress device \"DEV\" priority 0", "tcp dport > 29000 drop"), "drop",
     "dport", false},
    {"NftEgressAnswers",
     CHAIN("netdev", "hook egress device \"DEV\" priority 0", "tcp sport > 29000 drop"), "drop",
     "sport"},
    {"BridgeInput", CHAIN("bridge", "hook input priority 0", "tcp dport > 29000 drop"), "drop",
     "dport", true, false, 29600, true},
    {"BridgePreroutingByPort",
     CHAIN("bridge", "hook prerouting priority -300", "iifname \"DEV\" tcp dport > 29000 drop"),
     "drop", "dport", true, false, 29600, true},
    {"BridgeOutputAnswers",
     CHAIN("bridge", "hook output priority 0", "ip protocol tcp tcp sport > 29000 drop"), "drop",
     "sport", true, false, 29600, true},
    {"BridgePostrouting", CHAIN("bridge", "hook postrouting priority 0", "tcp dport > 29000 drop"),
     "drop", "dport", false, false, 29600, true},
    {"BridgeEbtables",
     "ebtables-nft -A INPUT -p IPv4 --ip-protocol tcp --ip-destination-port 29000:30000 -j DROP",
     "drop", "ip-dport", true, false, 29600, true},
    {"BridgeEbtablesPolicy", "ebtables-nft -A INPUT -p ARP -j ACCEPT\nebtables-nft -P INPUT DROP",
     "drop", "policy DROP", true, false, 29600, true},
    {"BridgePortIngress",
     CHAIN("netdev", "hook ingress device \"DEV\" priority 0", "tcp dport > 29000 drop"), "drop",
     "dport", true, false, 29600, true},
    {"BridgeIpInput", INPUT("iifname \"BRIDGE\" tcp dport > 29000 drop\niifname \"DEV\" accept"),
     "drop", "BRIDGE", true, false, 29600, true},
    {"NftBridgeDoesNotCount", CHAIN("bridge", "hook input priority 0", "drop"), "pass", ""},
    {"NftNumgen", INPUT("tcp dport > 29000 numgen random mod 100 < 60 drop"), "drop", "numgen"},
    {"NftNumgenVmap",
     INPUT("tcp dport > 29000 numgen random mod 10 vmap { 0-4 : drop, 5-9 : accept }"), "drop",
     "numgen"},
    {"NftLimitOver", INPUT("tcp dport > 29000 limit rate over 5/second burst 1 packets drop"),
     "unknown", "limit"},
    {"NftLimitThenDrop",
     INPUT("tcp dport > 29000 limit rate 1/day burst 1 packets accept\ntcp dport > 29000 drop"),
     "unknown", "drop"},
    {"NftConnectionCount", INPUT("tcp dport > 29000 ct count over 0 drop"), "unknown", "ct count"},
    {"NftMarkThenDrop", INPUT("tcp dport > 29000 meta mark set 7\nmeta mark 7 drop"), "unknown",
     "mark"},
    {"NftMarkNobodySets", INPUT("meta mark 7 drop\nmeta mark & 0xff00 == 0x4000 drop"), "pass", ""},
    {"NftFibLocal", INPUT("fib daddr type local tcp dport > 29000 drop"), "drop", "fib"},
    {"NftFibNotLocal", INPUT("fib daddr type != local drop\nfib saddr type local drop"), "pass",
     ""},
    {"NftPacketType",
     INPUT("meta pkttype { broadcast, multicast } drop\nmeta pkttype host tcp dport > 29000 drop"),
     "drop", "host"},
    {"NftLength", INPUT("tcp dport > 29000 meta length < 80 drop"), "drop", "length"},
    {"NftCtStatusDnat", INPUT("ct status dnat accept\ntcp dport > 29000 drop"), "drop", "dport"},
    {"NftQueue", INPUT("tcp dport > 29000 queue num 0"), "drop", "queue"},
    {"NftQueueBypass", INPUT("tcp dport > 29000 queue num 0 bypass"), "pass", ""},
    {"NftRedirect",
     NFT("table ip t {\n chain c {\n type nat hook prerouting priority -100;\n tcp dport { 29500, "
         "29600-29603 } redirect to :45678\n}\n}"),
     "redirect", "redirect"},
    {"NftRedirectOutput",
     NFT("table ip t {\n chain c {\n type nat hook output priority -100;\n tcp dport { 29500, "
         "29600-29603 } redirect to :45678\n}\n}"),
     "redirect", "redirect", false},
    {"NftDnat",
     NFT("table ip t {\n chain c {\n type nat hook prerouting priority -100;\n tcp dport { 29500, "
         "29600-29603 } dnat to 10.9.0.77:80\n}\n}"),
     "redirect", "dnat"},
    {"NftDnatToItself",
     NFT("table ip t {\n chain c {\n type nat hook prerouting priority -100;\n tcp dport 29600 "
         "dnat to OWN:29600\n}\n}"),
     "pass", ""},
    {"NftMasquerade",
     NFT("table ip t {\n chain c {\n type nat hook postrouting priority 100;\n oifname \"DEV\" "
         "masquerade\n}\n}"),
     "pass", "", false},
    {"NftRawPayload", INPUT("meta l4proto tcp @th,16,16 29600-29700 drop\ntcp dport 29500 drop"),
     "drop", "drop"},
    {"NftLogAndCounter", INPUT("tcp dport > 29000 counter log prefix \"x \" drop"), "drop", "log"},
    {"NftSetUpdate",
     NFT("table inet t {\n set s {\n type ipv4_addr; flags dynamic; size 100;\n}\n chain c {\n "
         "type filter hook input priority 0;\n tcp dport > 29000 add @s { ip saddr } counter "
         "drop\n}\n}"),
     "drop", "drop"},
    {"LegacyDrop", "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -j DROP", "drop",
     "-j DROP"},
    {"LegacySecondRule",
     "iptables-legacy -A INPUT -p icmp -j ACCEPT\niptables-legacy -A INPUT -p tcp -m multiport "
     "--dports 29500,29600:29700 -j DROP\niptables-legacy -A INPUT -j ACCEPT",
     "drop", "multiport"},
    {"LegacyRejectReset",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -j REJECT --reject-with tcp-reset",
     "reject", "tcp-reset"},
    {"LegacyRejectIcmp",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -j REJECT --reject-with "
     "icmp-host-prohibited",
     "reject", "host-prohibited"},
    {"LegacyRejectDefault", "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -j REJECT",
     "reject", "REJECT"},
    {"LegacyPolicyDrop",
     "iptables-legacy -A INPUT -i lo -j ACCEPT\niptables-legacy -A INPUT -m conntrack --ctstate "
     "RELATED,ESTABLISHED -j ACCEPT\niptables-legacy -P INPUT DROP",
     "drop", "policy DROP"},
    {"LegacyPolicyDropRightRule",
     "iptables-legacy -A INPUT -p tcp -s PEER -m multiport --dports 29500,29600:29603 -j "
     "ACCEPT\niptables-legacy -P INPUT DROP",
     "pass", ""},
    {"LegacyStateNew",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m state --state NEW -j DROP", "drop",
     "NEW"},
    {"LegacyNotEstablished",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m conntrack ! --ctstate "
     "ESTABLISHED,RELATED -j DROP",
     "drop", "ctstate"},
    {"LegacySyn", "iptables-legacy -A INPUT -p tcp --syn --dport 29500:29700 -j DROP", "drop",
     "tcp-flags"},
    {"LegacySourceRange",
     "iptables-legacy -A INPUT -m iprange --src-range 10.9.0.2-10.9.0.3 -j DROP", "drop",
     "src-range"},
    {"LegacyNotSource", "iptables-legacy -A INPUT ! -s 10.9.0.0/24 -j DROP", "pass", ""},
    {"LegacyOtherInterface",
     "iptables-legacy -A INPUT -i lo+ -j DROP\niptables-legacy -A INPUT ! -i DEV -j DROP", "pass",
     ""},
    {"LegacyInterfaceWildcard", "iptables-legacy -A INPUT -i w+ -p tcp --dport 29500:29700 -j DROP",
     "drop", "-i w+"},
    {"LegacyRandom",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m statistic --mode random --probability "
     "0.5 -j DROP",
     "drop", "statistic"},
    {"LegacyNth",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m statistic --mode nth --every 2 "
     "--packet 0 -j DROP",
     "drop", "statistic"},
    {"LegacyLimit",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m limit --limit 1/hour --limit-burst 1 "
     "-j ACCEPT\niptables-legacy -A INPUT -p tcp --dport 29500:29700 -j DROP",
     "unknown", "DROP"},
    {"LegacyLength",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m length --length 40:80 -j DROP", "drop",
     "length"},
    {"LegacyUserChain",
     "iptables-legacy -N user-chain\niptables-legacy -A user-chain -p tcp --dport 22 -j "
     "RETURN\niptables-legacy -A user-chain -j DROP\niptables-legacy -A INPUT -p tcp --dport "
     "29500:29700 -j user-chain",
     "drop", "user-chain -j DROP"},
    {"LegacyUserChainReturn",
     "iptables-legacy -N u\niptables-legacy -A u -p tcp -j RETURN\niptables-legacy -A u -j "
     "DROP\niptables-legacy -A INPUT -j u\niptables-legacy -A INPUT -g u",
     "pass", ""},
    {"LegacyRawPrerouting",
     "iptables-legacy -t raw -A PREROUTING -p tcp --dport 29500:29700 -j DROP", "drop",
     "PREROUTING"},
    {"LegacyRawNotrack",
     "iptables-legacy -t raw -A PREROUTING -p tcp -j CT --notrack\niptables-legacy -A INPUT -p tcp "
     "--dport 29500:29700 -m conntrack --ctstate UNTRACKED -j DROP",
     "drop", "UNTRACKED"},
    {"LegacyManglePostrouting",
     "iptables-legacy -t mangle -A POSTROUTING -o DEV -p tcp --sport 29500:29700 -j DROP", "drop",
     "POSTROUTING"},
    {"LegacySecurityTable",
     "iptables-legacy -t security -A INPUT -p tcp --dport 29500:29700 -j DROP", "drop", "DROP"},
    {"LegacyOutput", "iptables-legacy -A OUTPUT -p tcp --dport 29500:29700 -j DROP", "drop",
     "OUTPUT", false},
    {"LegacyOutputReject",
     "iptables-legacy -A OUTPUT -p tcp --dport 29500:29700 -j REJECT --reject-with "
     "icmp-net-unreachable",
     "reject", "OUTPUT", false},
    {"LegacyOutputPolicyAnswers",
     "iptables-legacy -A OUTPUT -p icmp -j ACCEPT\niptables-legacy -P OUTPUT DROP", "drop",
     "policy DROP"},
    {"LegacyRedirect",
     "iptables-legacy -t nat -A PREROUTING -p tcp -m multiport --dports 29500,29600:29603 -j "
     "REDIRECT --to-ports 45678",
     "redirect", "REDIRECT"},
    {"LegacyDnat",
     "iptables-legacy -t nat -A PREROUTING -p tcp -m multiport --dports 29500,29600:29603 -j DNAT "
     "--to-destination 10.9.0.77:80",
     "redirect", "DNAT"},
    {"LegacyNfQueue",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -j NFQUEUE --queue-num 3", "drop",
     "NFQUEUE"},
    {"LegacyAddrtype",
     "iptables-legacy -A INPUT -m addrtype --dst-type LOCAL -p tcp --dport 29500:29700 -j DROP",
     "drop", "addrtype"},
    {"LegacyMarkNotSet", "iptables-legacy -A INPUT -m mark --mark 0x8000/0x8000 -j DROP", "pass",
     ""},
    {"LegacyLogOnly",
     "iptables-legacy -A INPUT -j LOG --log-prefix \"a b\"\niptables-legacy -A INPUT -p tcp -m "
     "comment --comment \"drop -j DROP\" -j ACCEPT",
     "pass", ""},
    {"LegacyHashlimitUnknown",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m hashlimit --hashlimit-above 1/hour "
     "--hashlimit-burst 1 --hashlimit-name x -j DROP",
     "unknown", "hashlimit"},
    {"LegacyMacUnknown",
     "iptables-legacy -A INPUT -p tcp --dport 29500:29700 -m mac --mac-source 02:00:00:00:00:01 -j "
     "DROP",
     "unknown", "mac"},
    {"IptNftDrop", "iptables-nft -A INPUT -p tcp --dport 29500:29700 -j DROP", "drop", "-j DROP"},
    {"IptNftSecondRule",
     "iptables-nft -A INPUT -p icmp -j ACCEPT\niptables-nft -A INPUT -p tcp -m multiport --dports "
     "29500,29600:29700 -j DROP\niptables-nft -A INPUT -j ACCEPT",
     "drop", "multiport"},
    {"IptNftRejectReset",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -j REJECT --reject-with tcp-reset", "reject",
     "tcp-reset"},
    {"IptNftRejectIcmp",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -j REJECT --reject-with "
     "icmp-host-prohibited",
     "reject", "host-prohibited"},
    {"IptNftRejectDefault", "iptables-nft -A INPUT -p tcp --dport 29500:29700 -j REJECT", "reject",
     "REJECT"},
    {"IptNftPolicyDrop",
     "iptables-nft -A INPUT -i lo -j ACCEPT\niptables-nft -A INPUT -m conntrack --ctstate "
     "RELATED,ESTABLISHED -j ACCEPT\niptables-nft -P INPUT DROP",
     "drop", "policy DROP"},
    {"IptNftPolicyDropRightRule",
     "iptables-nft -A INPUT -p tcp -s PEER -m multiport --dports 29500,29600:29603 -j "
     "ACCEPT\niptables-nft -P INPUT DROP",
     "pass", ""},
    {"IptNftStateNew",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m state --state NEW -j DROP", "drop",
     "NEW"},
    {"IptNftNotEstablished",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m conntrack ! --ctstate "
     "ESTABLISHED,RELATED -j DROP",
     "drop", "ctstate"},
    {"IptNftSyn", "iptables-nft -A INPUT -p tcp --syn --dport 29500:29700 -j DROP", "drop",
     "tcp-flags"},
    {"IptNftSourceRange", "iptables-nft -A INPUT -m iprange --src-range 10.9.0.2-10.9.0.3 -j DROP",
     "drop", "src-range"},
    {"IptNftNotSource", "iptables-nft -A INPUT ! -s 10.9.0.0/24 -j DROP", "pass", ""},
    {"IptNftOtherInterface",
     "iptables-nft -A INPUT -i lo+ -j DROP\niptables-nft -A INPUT ! -i DEV -j DROP", "pass", ""},
    {"IptNftInterfaceWildcard", "iptables-nft -A INPUT -i w+ -p tcp --dport 29500:29700 -j DROP",
     "drop", "-i w+"},
    {"IptNftRandom",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m statistic --mode random --probability "
     "0.5 -j DROP",
     "drop", "statistic"},
    {"IptNftNth",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m statistic --mode nth --every 2 --packet "
     "0 -j DROP",
     "drop", "statistic"},
    {"IptNftLimit",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m limit --limit 1/hour --limit-burst 1 -j "
     "ACCEPT\niptables-nft -A INPUT -p tcp --dport 29500:29700 -j DROP",
     "unknown", "DROP"},
    {"IptNftLength",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m length --length 40:80 -j DROP", "drop",
     "length"},
    {"IptNftUserChain",
     "iptables-nft -N user-chain\niptables-nft -A user-chain -p tcp --dport 22 -j "
     "RETURN\niptables-nft -A user-chain -j DROP\niptables-nft -A INPUT -p tcp --dport 29500:29700 "
     "-j user-chain",
     "drop", "user-chain -j DROP"},
    {"IptNftUserChainReturn",
     "iptables-nft -N u\niptables-nft -A u -p tcp -j RETURN\niptables-nft -A u -j "
     "DROP\niptables-nft -A INPUT -j u\niptables-nft -A INPUT -g u",
     "pass", ""},
    {"IptNftRawPrerouting", "iptables-nft -t raw -A PREROUTING -p tcp --dport 29500:29700 -j DROP",
     "drop", "PREROUTING"},
    {"IptNftRawNotrack",
     "iptables-nft -t raw -A PREROUTING -p tcp -j CT --notrack\niptables-nft -A INPUT -p tcp "
     "--dport 29500:29700 -m conntrack --ctstate UNTRACKED -j DROP",
     "drop", "UNTRACKED"},
    {"IptNftManglePostrouting",
     "iptables-nft -t mangle -A POSTROUTING -o DEV -p tcp --sport 29500:29700 -j DROP", "drop",
     "POSTROUTING"},
    {"IptNftSecurityTable", "iptables-nft -t security -A INPUT -p tcp --dport 29500:29700 -j DROP",
     "drop", "DROP"},
    {"IptNftOutput", "iptables-nft -A OUTPUT -p tcp --dport 29500:29700 -j DROP", "drop", "OUTPUT",
     false},
    {"IptNftOutputReject",
     "iptables-nft -A OUTPUT -p tcp --dport 29500:29700 -j REJECT --reject-with "
     "icmp-net-unreachable",
     "reject", "OUTPUT", false},
    {"IptNftOutputPolicyAnswers",
     "iptables-nft -A OUTPUT -p icmp -j ACCEPT\niptables-nft -P OUTPUT DROP", "drop",
     "policy DROP"},
    {"IptNftRedirect",
     "iptables-nft -t nat -A PREROUTING -p tcp -m multiport --dports 29500,29600:29603 -j REDIRECT "
     "--to-ports 45678",
     "redirect", "REDIRECT"},
    {"IptNftDnat",
     "iptables-nft -t nat -A PREROUTING -p tcp -m multiport --dports 29500,29600:29603 -j DNAT "
     "--to-destination 10.9.0.77:80",
     "redirect", "DNAT"},
    {"IptNftNfQueue", "iptables-nft -A INPUT -p tcp --dport 29500:29700 -j NFQUEUE --queue-num 3",
     "drop", "NFQUEUE"},
    {"IptNftAddrtype",
     "iptables-nft -A INPUT -m addrtype --dst-type LOCAL -p tcp --dport 29500:29700 -j DROP",
     "drop", "addrtype"},
    {"IptNftMarkNotSet", "iptables-nft -A INPUT -m mark --mark 0x8000/0x8000 -j DROP", "pass", ""},
    {"IptNftLogOnly",
     "iptables-nft -A INPUT -j LOG --log-prefix \"a b\"\niptables-nft -A INPUT -p tcp -m comment "
     "--comment \"drop -j DROP\" -j ACCEPT",
     "pass", ""},
    {"IptNftHashlimitUnknown",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m hashlimit --hashlimit-above 1/hour "
     "--hashlimit-burst 1 --hashlimit-name x -j DROP",
     "unknown", "hashlimit"},
    {"IptNftMacUnknown",
     "iptables-nft -A INPUT -p tcp --dport 29500:29700 -m mac --mac-source 02:00:00:00:00:01 -j "
     "DROP",
     "unknown", "mac"},
    {"LegacyV6Drop", "ip6tables-legacy -A INPUT -p tcp --dport 29500:29700 -j DROP", "drop", "DROP",
     true, true},
    {"LegacyV6Reject",
     "ip6tables-legacy -A INPUT -p tcp -s fd00:9::/64 --dport 29500:29700 -j REJECT", "reject",
     "REJECT", true, true},
    {"LegacyV6PolicyDrop",
     "ip6tables-legacy -A INPUT -p ipv6-icmp -j ACCEPT\nip6tables-legacy -P INPUT DROP", "drop",
     "policy DROP", true, true},
    {"IptNftV6Drop", "ip6tables-nft -A INPUT -p tcp --dport 29500:29700 -j DROP", "drop", "DROP",
     true, true},
    {"IptNftV6Reject", "ip6tables-nft -A INPUT -p tcp -s fd00:9::/64 --dport 29500:29700 -j REJECT",
     "reject", "REJECT", true, true},
    {"IptNftV6PolicyDrop",
     "ip6tables-nft -A INPUT -p ipv6-icmp -j ACCEPT\nip6tables-nft -P INPUT DROP", "drop",
     "policy DROP", true, true},
    {"LegacyBehindNft",
     NFT("table inet t {\n chain c {\n type filter hook input priority -1;\n accept\n}\n}") "iptabl"
                                                                                            "es-"
                                                                                            "legacy"
                                                                                            " -A "
                                                                                            "INPUT "
                                                                                            "-p "
                                                                                            "tcp "
                                                                                            "--"
                                                                                            "dport "
                                                                                            "29500:"
                                                                                            "29700 "
                                                                                            "-j "
                                                                                            "DROP",
     "drop", "DROP"},
    {"TcFlowerIngressDrop",
     "tc qdisc add dev DEV clsact\ntc filter add dev DEV ingress protocol ip pref 10 flower "
     "ip_proto tcp dst_port 29600-29700 action drop",
     "drop", "flower"},
    {"TcFlowerEgressDrop",
     "tc qdisc add dev DEV clsact\ntc filter add dev DEV egress protocol ip pref 10 flower "
     "ip_proto tcp dst_port 29600-29700 action drop",
     "drop", "flower", false},
    {"TcMatchallPref1",
     "tc qdisc add dev DEV clsact\ntc filter add dev DEV ingress protocol all pref 1 matchall "
     "action pass",
     "pass", ""},
    {"TcU32Drop",
     "tc qdisc add dev DEV clsact\ntc filter add dev DEV ingress protocol ip pref 10 u32 match ip "
     "protocol 6 0xff match ip dport 29600 0xffff action drop",
     "drop", "u32"},
    {"TcU32ClassifyOnly",
     "tc qdisc add dev DEV clsact\ntc filter add dev DEV ingress protocol ip pref 10 u32 match ip "
     "protocol 6 0xff match ip dport 29600 0xffff flowid 1:1",
     "pass", ""},
};

#undef NFT
#undef INPUT
#undef CHAIN

}  // namespace plumbline::test
