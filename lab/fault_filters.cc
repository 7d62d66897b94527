// Rules of packet filters for faults: nftables in its families and hooks, iptables-legacy,
// ebtables, and tc with classic BPF.
#include <fmt/format.h>

#include "core/number.h"
#include "lab/address.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

// Where a rule is to stand.
struct Place {
  std::string netns;
  std::string device;  // for hooks and tools that are bound to one; empty = must not be bound
  std::string from_port, to_port;  // kPath in a bridge: ports where the packets come in and go out
  Spot spot = Spot::kInput;
  bool bridged = false;  // kPath: a bridge, not a router
  bool v6 = false;
  std::string where;  // for people
};

struct Chosen {
  std::string how;
  std::vector<std::string> steps, undo;
};

// ---- nftables ----

std::string nft_match(const PacketMatch& match, const Place& place, Draw& draw) {
  const char* ip = place.v6 ? "ip6" : "ip";
  std::string out;
  if (!match.from.empty()) out += fmt::format("{} saddr {} ", ip, match.from);
  if (!match.to.empty()) out += fmt::format("{} daddr {} ", ip, match.to);
  if (match.syn_only) out += "tcp flags & (syn | ack) == syn ";
  if (!match.ports.empty() && match.tcp_only) {
    out += fmt::format("tcp {} {{ {} }} ", match.source_ports ? "sport" : "dport",
                       port_words(match.ports, ", "));
  } else if (match.tcp_only && !match.syn_only) {
    out += "meta l4proto tcp ";
  } else if (!match.tcp_only && match.from.empty() && match.to.empty()) {
    // Everything of this IP version, but ARP and neighbour discovery stay.
    out += place.v6 ? "meta l4proto != icmpv6 " : "meta protocol ip ";
  }
  // In a bridge the length is that of the IP packet too.
  if (match.longer_than > 0) out += fmt::format("meta length > {} ", match.longer_than);
  if (match.percent < 100) out += fmt::format("numgen random mod 100 < {} ", match.percent);
  if (draw.coin()) out += "counter ";
  return out;
}

std::string nft_verdict(const std::string& verdict, const Place& place, Draw& draw,
                        std::string& how) {
  if (verdict == "drop") return "drop";
  if (verdict == "rst") return "reject with tcp reset";
  const std::vector<std::string> codes =
      place.v6
          ? std::vector<std::string>{"admin-prohibited", "port-unreachable", "no-route",
                                     "addr-unreachable"}
          : std::vector<std::string>{"port-unreachable", "admin-prohibited", "host-unreachable",
                                     "net-unreachable",  "host-prohibited",  "net-prohibited"};
  const std::string& code = draw.pick(codes);
  how += " " + code;
  return fmt::format("reject with {} type {}", place.v6 ? "icmpv6" : "icmp", code);
}

struct NftHook {
  std::string family, hook;
  bool bound;  // to a device
};

std::vector<NftHook> nft_hooks(const Place& place, const std::string& verdict) {
  const std::string family = place.v6 ? "ip6" : "ip";
  if (place.spot == Spot::kPath) {
    if (place.bridged) return {{"bridge", "forward", false}};
    return {{"inet", "forward", false}, {family, "forward", false}};
  }
  std::vector<NftHook> hooks;
  if (place.spot == Spot::kInput) {
    hooks = {{"inet", "input", false}, {family, "input", false}, {"inet", "prerouting", false}};
    if (verdict == "drop") {
      hooks.push_back({"netdev", "ingress", true});
      hooks.push_back({"inet", "ingress", true});
    }
  } else {
    hooks = {{"inet", "output", false}, {family, "output", false}};
    if (verdict == "drop") {
      hooks.push_back({"inet", "postrouting", false});
      hooks.push_back({"netdev", "egress", true});
    }
  }
  return hooks;
}

Chosen nft_filter(const PacketMatch& match, const Place& place, const std::string& verdict,
                  Draw& draw) {
  std::vector<NftHook> hooks;
  for (const NftHook& hook : nft_hooks(place, verdict)) {
    if (!hook.bound || !place.device.empty()) hooks.push_back(hook);
  }
  const NftHook& hook = draw.pick(hooks);
  const std::string table =
      draw.pick({"filter", "fw", "guard", "security", "site", "hardening"}) + "_" + draw.hex(2);
  std::string how = "nft " + hook.family + " " + hook.hook + " " + verdict;
  std::string rule = nft_match(match, place, draw);
  rule += nft_verdict(verdict, place, draw, how);
  if (draw.coin())
    rule += " comment \"" + draw.pick({"managed", "ticket 4711", "do not remove"}) + "\"";
  std::string text = fmt::format("table {} {} {{\n", hook.family, table);
  const bool nested = draw.coin();
  if (nested) text += fmt::format("  chain job {{\n    {}\n  }}\n", rule);
  const std::string device =
      hook.bound ? fmt::format(" device \"{}\"", place.device) : std::string();
  const int priority = draw.pick(std::vector<int>{-20, -10, 0, 5, 10});
  text += fmt::format(
      "  chain base {{\n    type filter hook {}{} priority {}; policy accept;\n    {}\n  }}\n}}\n",
      hook.hook, device, priority, nested ? "jump job" : rule);
  Chosen out;
  out.how = how + " " + place.where;
  out.steps = {in_netns(place.netns, "nft -f - <<'END'") + "\n" + text + "END"};
  out.undo = {in_netns(place.netns, "nft delete table {} {}", hook.family, table)};
  return out;
}

// ---- iptables-legacy (IPv4 only: ip6tables speaks other words for too little gain) ----

std::string iptables_match(const PacketMatch& match) {
  std::string out;
  if (!match.from.empty()) out += " -s " + match.from;
  if (!match.to.empty()) out += " -d " + match.to;
  if (match.tcp_only) out += " -p tcp";
  if (match.syn_only) out += " --syn";
  if (!match.ports.empty() && match.tcp_only) {
    out += fmt::format(" -m multiport --{} {}", match.source_ports ? "sports" : "dports",
                       port_words(match.ports, ",", ":"));
  }
  if (match.longer_than > 0) out += fmt::format(" -m length --length {}:", match.longer_than + 1);
  if (match.percent < 100) {
    out += fmt::format(" -m statistic --mode random --probability 0.{:02}", match.percent);
  }
  return out;
}

Chosen iptables_filter(const PacketMatch& match, const Place& place, const std::string& verdict,
                       Draw& draw) {
  struct Slot {
    const char *table, *chain;
  };
  std::vector<Slot> slots;
  if (place.spot == Spot::kInput) {
    slots = {{"filter", "INPUT"}};
    if (verdict == "drop") {
      slots.insert(slots.end(),
                   {{"mangle", "PREROUTING"}, {"raw", "PREROUTING"}, {"mangle", "INPUT"}});
    }
  } else if (place.spot == Spot::kOutput) {
    slots = {{"filter", "OUTPUT"}};
    if (verdict == "drop") {
      slots.insert(slots.end(),
                   {{"mangle", "OUTPUT"}, {"raw", "OUTPUT"}, {"mangle", "POSTROUTING"}});
    }
  } else {
    slots = {{"filter", "FORWARD"}};
    if (verdict == "drop") slots.push_back({"mangle", "FORWARD"});
  }
  const Slot slot = draw.pick(slots);
  std::string how = fmt::format("iptables-legacy {} {} {}", slot.table, slot.chain, verdict);
  std::string target = "-j DROP";
  if (verdict == "rst") target = "-j REJECT --reject-with tcp-reset";
  if (verdict == "icmp") {
    const std::string& code =
        draw.pick({"icmp-port-unreachable", "icmp-host-prohibited", "icmp-admin-prohibited",
                   "icmp-net-unreachable", "icmp-host-unreachable", "icmp-net-prohibited"});
    target = "-j REJECT --reject-with " + code;
    how += " " + code;
  }
  const bool own_chain = draw.coin();
  const std::string chain = "JOB-" + draw.hex(3);
  const auto command = [&](const std::string& words) {
    return in_netns(place.netns, "iptables-legacy -w 5 -t {} {}", slot.table, words);
  };
  const std::string rule = iptables_match(match) + " " + target;
  Chosen out;
  out.how = how + " " + place.where;
  if (own_chain) {
    out.steps = {command("-N " + chain), command("-A " + chain + rule),
                 command(fmt::format("-I {} -j {}", slot.chain, chain))};
    out.undo = {command(fmt::format("-D {} -j {}", slot.chain, chain)), command("-F " + chain),
                command("-X " + chain)};
  } else {
    out.steps = {command(fmt::format("-{} {}{}", draw.coin() ? "I" : "A", slot.chain, rule))};
    out.undo = {command(fmt::format("-D {}{}", slot.chain, rule))};
  }
  if (place.spot == Spot::kPath && place.bridged) {
    // As on a machine with containers: bridged packets go through the IP filter.
    const std::string key = "sysctl -qw net.bridge.bridge-nf-call-iptables=";
    out.steps.insert(out.steps.begin(), in_netns(place.netns, key + "1"));
    out.undo.push_back(in_netns(place.netns, key + "0"));
  }
  return out;
}

// ---- ebtables ----

Chosen ebtables_filter(const PacketMatch& match, const Place& place) {
  Chosen out;
  out.how = "ebtables FORWARD drop " + place.where;
  const std::string key = place.v6 ? "ip6" : "ip";
  std::string base = place.v6 ? " -p IPv6" : " -p IPv4";
  if (!match.from.empty()) base += fmt::format(" --{}-src {}", key, match.from);
  if (!match.to.empty()) base += fmt::format(" --{}-dst {}", key, match.to);
  if (match.tcp_only) base += fmt::format(" --{}-proto tcp", key);
  std::vector<std::string> rules;
  if (match.ports.empty() || !match.tcp_only) rules.push_back(base);
  if (match.tcp_only) {
    for (const auto& [first, last] : runs_of(match.ports)) {
      rules.push_back(fmt::format("{} --{}-{} {}:{}", base, key,
                                  match.source_ports ? "sport" : "dport", first, last));
    }
  }
  for (const std::string& rule : rules) {
    out.steps.push_back(in_netns(place.netns, "ebtables-nft -A FORWARD" + rule + " -j DROP"));
    out.undo.push_back(in_netns(place.netns, "ebtables-nft -D FORWARD" + rule + " -j DROP"));
  }
  // It leaves its table behind: away with it when nothing is in it any more.
  const std::string nft = in_netns(place.netns, "nft ");
  out.undo.push_back(nft + "list table bridge filter | grep -q counter || " + nft +
                     "delete table bridge filter");
  return out;
}

// ---- tc ----

Chosen tc_filter(const PacketMatch& match, const Place& place, Draw& draw) {
  // On the way, where the packets come in or where they go out.
  const bool at_entry = place.spot == Spot::kPath && draw.coin();
  std::string device = place.device;
  if (place.spot == Spot::kPath) device = at_entry ? place.from_port : place.to_port;
  const bool ingress = place.spot == Spot::kInput || at_entry;
  const std::string side = ingress ? "ingress" : "egress";
  const std::string tc = "tc -n " + place.netns + " ";
  const std::string pref = std::to_string(draw.between(100, 30000));
  Chosen out;
  out.how = fmt::format("tc {} bpf drop {}", side, place.where);
  out.steps = {tc + fmt::format("qdisc add dev {} clsact 2>/dev/null || true", device),
               tc + fmt::format("filter add dev {} {} pref {} bpf da bytecode '{}'", device, side,
                                pref, tc_bytecode(match, place.v6))};
  out.undo = {tc + fmt::format("filter del dev {} {} pref {}", device, side, pref),
              fmt::format("[ -n \"$({0}filter show dev {1} ingress; {0}filter show dev {1} "
                          "egress)\" ] || {0}qdisc del dev {1} clsact",
                          tc, device)};
  return out;
}

bool ebtables_can(const PacketMatch& match) {
  return match.percent == 100 && match.longer_than == 0 && !match.syn_only;
}

void choose_filter(FaultMaker& maker, const Place& place, const PacketMatch& match,
                   const std::string& verdict) {
  Draw& draw = maker.draw;
  std::vector<std::string> tools;
  if (has_tool("nft")) tools.emplace_back("nft");
  const bool ip_filter_sees = place.spot != Spot::kPath || !place.bridged || match.tcp_only;
  if (has_tool("iptables-legacy") && !place.v6 && ip_filter_sees) tools.emplace_back("iptables");
  const bool has_device = place.spot == Spot::kPath ? place.bridged : !place.device.empty();
  if (verdict == "drop" && has_device && !(place.v6 && match.syn_only)) tools.emplace_back("tc");
  if (verdict == "drop" && place.spot == Spot::kPath && place.bridged && ebtables_can(match) &&
      has_tool("ebtables-nft")) {
    tools.emplace_back("ebtables");
  }
  const std::string tool = tools.empty() ? "nft" : draw.pick(tools);
  const Chosen chosen = tool == "nft"        ? nft_filter(match, place, verdict, draw)
                        : tool == "iptables" ? iptables_filter(match, place, verdict, draw)
                        : tool == "tc"       ? tc_filter(match, place, draw)
                                             : ebtables_filter(match, place);
  for (const std::string& step : chosen.steps) maker.step(step);
  maker.undo(chosen.undo);
  maker.how(chosen.how);
}

}  // namespace

void add_filter_at(FaultMaker& maker, const std::string& netns, const LabLink& link, Spot spot,
                   const PacketMatch& match, const std::string& verdict) {
  Place place;
  place.netns = netns;
  place.spot = spot;
  place.v6 = maker.v6();
  // In a mesh a rule bound to one device would let the other links work.
  const bool one_peer = !match.from.empty() && !match.to.empty();
  if (!maker.mesh() || one_peer) place.device = link.interface;
  for (const LabHost& host : maker.lab.hosts) {
    if (host.netns == netns) place.where = "on " + host.name;
  }
  choose_filter(maker, place, match, verdict);
}

void add_filter(FaultMaker& maker, Spot spot, const PacketMatch& match,
                const std::string& verdict) {
  if (spot != Spot::kPath) {
    add_filter_at(maker, maker.host.netns, maker.link, spot, match, verdict);
    return;
  }
  Place place;
  place.netns = maker.lab.switch_netns;
  place.spot = spot;
  place.v6 = maker.v6();
  // Packets between two bridges go through the router, those inside one do not.
  place.bridged = maker.link.bridge == maker.back.bridge;
  const bool from_host = match.from == maker.ip() || match.to == maker.peer_ip();
  place.from_port = from_host ? maker.link.port : maker.back.port;
  place.to_port = from_host ? maker.back.port : maker.link.port;
  place.where = place.bridged ? "in the switch" : "in the router";
  choose_filter(maker, place, match, verdict);
}

}  // namespace plumbline
