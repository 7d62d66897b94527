// The commands that let a connection past one rule. One function per tool; see evaluate.h for what
// they promise. Syntax: nft(8), iptables(8), ebtables(8), tc(8), tc-flower(8), ufw(8),
// firewalld.richlanguage(5).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/shell_words.h"
#include "probes/filters/evaluate.h"
#include "probes/filters/match_packet.h"
#include "probes/filters/net_values.h"
#include "probes/filters/shell_text.h"

namespace plumbline {
namespace {

using Ranges = std::vector<std::pair<int, int>>;

// One kind of packets of the connections in question, as they pass the rule.
struct Pass {
  std::string source, destination;
  bool v6 = false;
  bool to_ports = true;       // the ports are the destination's; otherwise these are answers
  bool answers_only = false;  // say so, so that nobody gets in by choosing his source port
  bool incoming = true;
};

Pass make_pass(const RemedyFor& what, bool v6, bool entering) {
  Pass pass;
  pass.v6 = v6;
  pass.source = entering ? what.peer_ip : what.own_ip;
  pass.destination = entering ? what.own_ip : what.peer_ip;
  pass.to_ports = entering == what.incoming;
  pass.answers_only = !pass.to_ports;
  pass.incoming = entering;
  return pass;
}

// Can these packets match the rule at all?
bool concerns(const FilterRule& rule, const Pass& pass, int port) {
  FilterPacket packet;
  packet.incoming = pass.incoming;
  packet.source_ip = pass.source;
  packet.destination_ip = pass.destination;
  packet.first = pass.to_ports;
  packet.reply = !pass.to_ports;
  (pass.to_ports ? packet.destination_port : packet.source_port) = port;
  (pass.to_ports ? packet.source_port : packet.destination_port) = 0;
  PacketAt at;
  at.packet = &packet;
  at.hook = pass.incoming ? "input" : "output";
  at.interfaces = {""};
  at.tracked = at.marked = Tri::kMaybe;
  return holds(rule, at) != Tri::kNo;
}

// The kinds of packets to let pass. A chain that belongs to a hook sees one direction; one that is
// jumped to may see both.
std::vector<Pass> passes(const FilterRule& rule, const RemedyFor& what, bool v6, int port) {
  const std::string& hook = rule.hook.empty() ? what.hook : rule.hook;
  if (!hook.empty() && hook != "forward") return {make_pass(what, v6, is_incoming_hook(hook))};
  std::vector<Pass> found;
  for (const bool entering : {true, false}) {
    const Pass pass = make_pass(what, v6, entering);
    if (concerns(rule, pass, port)) found.push_back(pass);
  }
  return found;
}

std::string nft_command(const FilterRule& rule, const Pass& pass, const Ranges& ranges) {
  const std::string ip = pass.v6 ? "ip6" : "ip";
  std::string ports = join_ranges(ranges, '-', ", ");
  if (ranges.size() > 1) ports = "{ " + ports + " }";
  std::string where = rule.is_policy || rule.handle <= 0
                          ? fmt::format("add rule {} {} {}", rule.family, rule.table, rule.chain)
                          : fmt::format("insert rule {} {} {} position {}", rule.family, rule.table,
                                        rule.chain, rule.handle);
  return fmt::format("nft '{} {} saddr {} {} daddr {} tcp {} {}{} accept'\n", where, ip,
                     pass.source, ip, pass.destination, pass.to_ports ? "dport" : "sport", ports,
                     pass.answers_only ? " tcp flags & (syn | ack) != syn" : "");
}

std::string nft_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  if (!is_nft_name(rule.family) || !is_nft_name(rule.table) || !is_nft_name(rule.chain)) return {};
  if (rule.family == "arp" || rule.family == (all[0].v6 ? "ip" : "ip6")) return {};
  std::string text;
  for (const Pass& pass : all) text += nft_command(rule, pass, ranges);
  return text;
}

std::string binary(const FilterRule& rule) {
  return rule.variant == "legacy" || rule.variant == "nft" ? rule.tool + "-" + rule.variant
                                                           : rule.tool;
}

// "-I INPUT 3", or "-A INPUT" for what is to stand behind the last rule, before the policy.
std::string place(const FilterRule& rule) {
  if (rule.is_policy || rule.handle <= 0) return "-A " + shell_word(rule.chain);
  return fmt::format("-I {} {}", shell_word(rule.chain), rule.handle);
}

std::string iptables_remedy(const FilterRule& rule, const std::vector<Pass>& all,
                            const Ranges& ranges) {
  if (!is_one_word(rule.table) || !is_one_word(rule.chain)) return {};
  if ((rule.tool == "ip6tables") != all[0].v6) return {};
  std::string text;
  for (const Pass& pass : all) {
    for (const Ranges& part : split_ranges(ranges, 15)) {
      std::string ports = part.size() > 1 ? "-m multiport " : "";
      ports += pass.to_ports ? "--dport" : "--sport";
      if (part.size() > 1) ports += "s";
      text += fmt::format("{} -w -t {} {} -s {} -d {} -p tcp{} {} {} -j ACCEPT\n", binary(rule),
                          shell_word(rule.table), place(rule), pass.source, pass.destination,
                          pass.answers_only ? " ! --syn" : "", ports, join_ranges(part, ':', ","));
    }
  }
  return text;
}

std::string ebtables_remedy(const FilterRule& rule, const std::vector<Pass>& all,
                            const Ranges& ranges) {
  if (!is_one_word(rule.table) || !is_one_word(rule.chain)) return {};
  std::string text;
  for (const Pass& pass : all) {
    for (const auto& range : ranges) {
      const char* ip = pass.v6 ? "ip6" : "ip";
      text += fmt::format(
          "{} -t {} {} -p {} --{}-source {} --{}-destination {} --{}-protocol tcp "
          "--{}-{}-port {} -j ACCEPT\n",
          binary(rule), shell_word(rule.table), place(rule), pass.v6 ? "IPv6" : "IPv4", ip,
          pass.source, ip, pass.destination, ip, ip, pass.to_ports ? "destination" : "source",
          join_ranges({range}, ':', ","));
    }
  }
  return text;
}

// A range of ports as values with masks: 29600-29603 is 29600 of 0xfffc.
std::vector<std::pair<int, int>> masked(std::pair<int, int> range) {
  std::vector<std::pair<int, int>> out;
  int at = range.first;
  while (at <= range.second) {
    int size = 1;
    while (at % (2 * size) == 0 && at + 2 * size - 1 <= range.second) size *= 2;
    out.emplace_back(at, 0xffff & ~(size - 1));
    at += size;
  }
  return out;
}

// tc asks filters by ascending preference, and "pass" ends the asking. When nothing is below the
// filter's own preference, only taking that very filter away is left.
std::string tc_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  if (!is_one_word(rule.device) || rule.handle < 1 || rule.handle > 65535) return {};
  const std::string device = shell_word(rule.device);
  const char* protocol = all[0].v6 ? "ipv6" : "ip";
  if (rule.handle == 1) {
    if (!is_one_word(rule.table) || !is_one_word(rule.id)) return {};
    std::string own = "all";
    for (const FilterMatch& match : rule.matches) {
      if (match.key == "family" && match.values.size() == 1) {
        own = match.values[0] == "ip6" ? "ipv6" : match.values[0];
      }
    }
    if (!is_one_word(own)) return {};
    return fmt::format("tc filter del dev {} {} protocol {} pref 1 handle {} {}\n", device,
                       rule.hook, own, shell_word(rule.id), shell_word(rule.table));
  }
  // u32 is in every kernel, and a match without an action lets the packet pass. Ports stand at
  // their fixed places, which options of the IP header would move.
  const char* ip = all[0].v6 ? "ip6" : "ip";
  const int flags_at = all[0].v6 ? 40 + 13 : 20 + 13;
  std::string text;
  for (const Pass& pass : all) {
    for (const auto& range : ranges) {
      for (const auto& [value, mask] : masked(range)) {
        text += fmt::format(
            "tc filter add dev {} {} protocol {} pref {} u32 match {} src {} match {} dst {} "
            "match {} protocol 6 0xff match {} {} {} {:#x}{} flowid 1:1\n",
            device, rule.hook, protocol, rule.handle - 1, ip, pass.source, ip, pass.destination, ip,
            ip, pass.to_ports ? "dport" : "sport", value, mask,
            pass.answers_only ? fmt::format(" match u8 0x10 0x10 at {}", flags_at) : "");
      }
    }
  }
  return text;
}

bool starts_with(const std::string& text, const char* begin) { return text.rfind(begin, 0) == 0; }

bool is_active(const RemedyFor& what, const char* front_end) {
  return std::find(what.front_ends.begin(), what.front_ends.end(), front_end) !=
         what.front_ends.end();
}

// ufw keeps the user's rules in ufw-user-input and -output, behind its own; what lies before those
// cannot be reached by its command. Its policies are the kernel's chains'.
std::optional<std::string> ufw_remedy(const FilterRule& rule, const Pass& pass,
                                      const Ranges& ranges) {
  const bool user = starts_with(rule.chain, "ufw-user-") || starts_with(rule.chain, "ufw6-user-");
  const bool behind =
      starts_with(rule.chain, "ufw-after-") || starts_with(rule.chain, "ufw6-after-") ||
      starts_with(rule.chain, "ufw-reject-") || starts_with(rule.chain, "ufw6-reject-") ||
      starts_with(rule.chain, "ufw-skip-to-policy") ||
      starts_with(rule.chain, "ufw6-skip-to-policy");
  const bool policy = rule.is_policy && (rule.chain == "INPUT" || rule.chain == "OUTPUT");
  if (rule.table != "filter" || !(user || behind || policy)) return std::nullopt;
  if (pass.answers_only) return std::nullopt;  // ufw lets answers pass by itself, before all this
  std::string text;
  for (const Ranges& part : split_ranges(ranges, 15)) {
    text += fmt::format("ufw {}allow {} proto tcp from {} to {} port {}\n", user ? "prepend " : "",
                        pass.incoming ? "in" : "out", pass.source, pass.destination,
                        join_ranges(part, ':', ","));
  }
  return text;
}

// firewalld names its chains after zones: filter_IN_public_deny, IN_public_deny. What a zone denies
// is asked before what it allows, unless a rich rule has a negative priority.
std::optional<std::string> firewalld_remedy(const FilterRule& rule, const Pass& pass,
                                            const Ranges& ranges) {
  const bool own = rule.table == "firewalld" || starts_with(rule.chain, "IN_") ||
                   starts_with(rule.chain, "INPUT_");
  if (!own || !pass.incoming || pass.answers_only) return std::nullopt;
  const std::string& chain = rule.chain;
  std::string zone, priority;
  const size_t in = chain.find("IN_");
  if (in == 0 || chain.compare(0, in, "filter_") == 0) {
    if (in != std::string::npos) zone = chain.substr(in + 3);
  }
  for (const char* part : {"_pre", "_log", "_deny", "_allow", "_post"}) {
    const size_t at = zone.rfind(part);
    if (at == std::string::npos || at + std::string(part).size() != zone.size()) continue;
    zone.resize(at);
    if (part[1] == 'p' || part[1] == 'd' || part[1] == 'l') priority = " priority=\"-32768\"";
    break;
  }
  if (!zone.empty() && !is_nft_name(zone)) return std::nullopt;
  if (!zone.empty()) zone = "--zone=" + zone + " ";
  std::string text;
  for (const auto& range : ranges) {
    text += fmt::format(
        "firewall-cmd {}--add-rich-rule='rule{} family=\"{}\" source address=\"{}\" destination "
        "address=\"{}\" port port=\"{}\" protocol=\"tcp\" accept'\n",
        zone, priority, pass.v6 ? "ipv6" : "ipv4", pass.source, pass.destination,
        join_ranges({range}, '-', ","));
  }
  return text;
}

}  // namespace

std::string remedy_for_rule(const FilterRule& policy_or_rule, const RemedyFor& asked) {
  const bool earlier = policy_or_rule.is_policy && asked.left_by != nullptr;
  const FilterRule& rule = earlier ? *asked.left_by : policy_or_rule;
  const auto own = parse_net_address(asked.own_ip);
  const auto peer = parse_net_address(asked.peer_ip);
  const Ranges ranges = port_ranges(asked.ports);
  if (!own || !peer || own->v6 != peer->v6 || ranges.empty()) return {};
  RemedyFor what = asked;
  what.own_ip = to_text(*own);
  what.peer_ip = to_text(*peer);
  const std::vector<Pass> all = passes(rule, what, own->v6, ranges.front().first);
  if (all.empty()) return {};
  if (is_active(what, "ufw") && rule.tool != "tc") {
    if (const auto text = ufw_remedy(rule, all[0], ranges)) return *text;
  }
  if (is_active(what, "firewalld") && rule.tool != "tc") {
    if (const auto text = firewalld_remedy(rule, all[0], ranges)) return *text;
  }
  if (rule.tool == "nftables") return nft_remedy(rule, all, ranges);
  if (rule.tool == "iptables" || rule.tool == "ip6tables") {
    return iptables_remedy(rule, all, ranges);
  }
  if (rule.tool == "ebtables") return ebtables_remedy(rule, all, ranges);
  if (rule.tool == "tc") return tc_remedy(rule, all, ranges);
  return {};
}

std::string remedy_for_rule(const FilterRule& rule, bool incoming, const std::string& own_ip,
                            const std::string& peer_ip, const std::vector<int>& ports) {
  return remedy_for_rule(rule, {incoming, own_ip, peer_ip, ports, {}, nullptr, {}});
}

}  // namespace plumbline
