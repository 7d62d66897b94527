// The commands that let a connection past one rule. One function per tool; see evaluate.h for what
// they promise. Syntax: nft(8), iptables(8), ebtables(8), tc(8), tc-flower(8), ufw(8),
// firewalld.richlanguage(5). No command where a name of the rule fits no slot.
#include <algorithm>
#include <optional>

#include "core/host/ip.h"
#include "probes/filters/evaluate.h"
#include "probes/filters/filter_values.h"

namespace plumbline {
namespace {

using Ranges = std::vector<std::pair<int, int>>;

// One kind of packets of the connections in question, as they pass the rule.
struct Pass {
  std::string source, destination;
  bool v6 = false;
  // The ports are the destination's; otherwise these are answers, and the command says so: nobody
  // is to get in by choosing his source port.
  bool to_ports = true;
  bool incoming = true;
};

Pass make_pass(const RemedyFor& what, bool v6, bool entering) {
  return {entering ? what.peer_ip : what.own_ip, entering ? what.own_ip : what.peer_ip, v6,
          entering == what.incoming, entering};
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

using CommandWords = std::vector<Word>;

Word address(const std::string& ip) { return slot(Slot::kAddress, ip); }
void add_words(CommandWords& words, const CommandWords& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// nft joins its arguments and parses them: one word, of parts in which it can find nothing else.
Command nft_command(const FilterRule& rule, const Pass& pass, const Ranges& ranges) {
  const Word ip = pass.v6 ? Word("ip6") : Word("ip");
  Word ports = ports_word(ranges, "-", ", ");
  if (ranges.size() > 1) ports = "{ " + ports + " }";
  const bool at_end = rule.is_policy || rule.handle <= 0;
  Word line = (at_end ? Word("add rule ") : Word("insert rule ")) +
              one_of(rule.family, {"ip", "ip6", "inet", "bridge", "netdev"}) + " " +
              slot(Slot::kNftName, rule.table) + " " + slot(Slot::kNftName, rule.chain);
  if (!at_end) line = line + " position " + number(rule.handle);
  line = line + " " + ip + " saddr " + address(pass.source) + " " + ip + " daddr " +
         address(pass.destination) + " tcp " + (pass.to_ports ? Word("dport ") : Word("sport ")) +
         ports;
  if (!pass.to_ports) line = line + " tcp flags & (syn | ack) != syn";
  return {"nft", line + " accept"};
}

Remedy nft_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  if (rule.family == "arp" || rule.family == (all[0].v6 ? "ip" : "ip6")) return {};
  Remedy remedy;
  for (const Pass& pass : all) remedy.run(nft_command(rule, pass, ranges));
  return remedy;
}

Word binary(const FilterRule& rule) {
  const Word tool = one_of(rule.tool, {"iptables", "ip6tables", "ebtables"});
  return rule.variant == "legacy" ? tool + "-legacy" : rule.variant == "nft" ? tool + "-nft" : tool;
}

// "-I INPUT 3", or "-A INPUT" for what is to stand behind the last rule, before the policy.
CommandWords place(const FilterRule& rule) {
  const Word chain = slot(Slot::kFilterName, rule.chain);
  if (rule.is_policy || rule.handle <= 0) return {"-A", chain};
  return {"-I", chain, number(rule.handle)};
}

// In parts of at most `most` ports, where a range counts as two: limit of iptables' multiport and
// of ufw.
std::vector<Ranges> split_ranges(const Ranges& ranges, size_t most) {
  std::vector<Ranges> parts;
  size_t used = most;
  for (const auto& range : ranges) {
    const size_t size = range.first == range.second ? 1 : 2;
    if (used + size > most) {
      parts.emplace_back();
      used = 0;
    }
    parts.back().push_back(range);
    used += size;
  }
  return parts;
}

Remedy iptables_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  if ((rule.tool == "ip6tables") != all[0].v6) return {};
  Remedy remedy;
  for (const Pass& pass : all) {
    for (const Ranges& part : split_ranges(ranges, 15)) {
      CommandWords words = {binary(rule), "-w", "-t", slot(Slot::kFilterName, rule.table)};
      add_words(words, place(rule));
      add_words(words, {"-s", address(pass.source), "-d", address(pass.destination), "-p", "tcp"});
      if (!pass.to_ports) add_words(words, {"!", "--syn"});
      Word ports = pass.to_ports ? Word("--dport") : Word("--sport");
      if (part.size() > 1) {
        add_words(words, {"-m", "multiport"});
        ports = ports + "s";
      }
      add_words(words, {ports, ports_word(part, ":", ","), "-j", "ACCEPT"});
      remedy.run(words);
    }
  }
  return remedy;
}

Remedy ebtables_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  Remedy remedy;
  for (const Pass& pass : all) {
    for (const auto& range : ranges) {
      const Word ip = pass.v6 ? Word("--ip6-") : Word("--ip-");
      CommandWords words = {binary(rule), "-t", slot(Slot::kFilterName, rule.table)};
      add_words(words, place(rule));
      add_words(words,
                {"-p", pass.v6 ? Word("IPv6") : Word("IPv4"), ip + "source", address(pass.source),
                 ip + "destination", address(pass.destination), ip + "protocol", "tcp",
                 ip + (pass.to_ports ? Word("destination-port") : Word("source-port")),
                 ports_word({range}, ":", ","), "-j", "ACCEPT"});
      remedy.run(words);
    }
  }
  return remedy;
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

// "tc filter add dev eth0 ingress protocol ip pref 9".
CommandWords tc_words(const Word& verb, const FilterRule& rule, const Word& protocol,
                      const Word& pref) {
  CommandWords words = {"tc", "filter", verb, "dev"};
  add_words(words, {slot(Slot::kInterface, rule.device), one_of(rule.hook, {"ingress", "egress"})});
  add_words(words, {"protocol", protocol, "pref", pref});
  return words;
}

// Takes the very filter away, named by all that names it.
Remedy without_tc_filter(const FilterRule& rule) {
  std::string own = "all";
  for (const FilterMatch& match : rule.matches) {
    if (match.key == "family" && match.values.size() == 1) {
      own = match.values[0] == "ip6" ? "ipv6" : match.values[0];
    }
  }
  CommandWords words = tc_words("del", rule, slot(Slot::kMatchValue, own), "1");
  add_words(words, {"handle", slot(Slot::kTcHandle, rule.id), slot(Slot::kTcKind, rule.table)});
  return Command(words);
}

// u32 is in every kernel, and a match without an action lets the packet pass. Ports stand at their
// fixed places, which options of the IP header would move.
Command tc_filter(const FilterRule& rule, const Pass& pass, std::pair<int, int> value_and_mask) {
  const Word ip = pass.v6 ? Word("ip6") : Word("ip");
  CommandWords words =
      tc_words("add", rule, pass.v6 ? Word("ipv6") : Word("ip"), number(rule.handle - 1));
  add_words(words, {"u32", "match", ip, "src", address(pass.source)});
  add_words(words, {"match", ip, "dst", address(pass.destination)});
  add_words(words, {"match", ip, "protocol", "6", "0xff"});
  add_words(words, {"match", ip, pass.to_ports ? Word("dport") : Word("sport")});
  add_words(words, {number(value_and_mask.first), number(value_and_mask.second, 0, 0xffff, 16)});
  if (!pass.to_ports) {
    add_words(words, {"match", "u8", "0x10", "0x10", "at", pass.v6 ? Word("53") : Word("33")});
  }
  add_words(words, {"flowid", "1:1"});
  return words;
}

// tc asks filters by ascending preference, and "pass" ends the asking. When nothing is below the
// filter's own preference, only taking that very filter away is left.
Remedy tc_remedy(const FilterRule& rule, const std::vector<Pass>& all, const Ranges& ranges) {
  if (rule.device.empty() || rule.handle < 1 || rule.handle > 65535) return {};
  if (rule.handle == 1) return without_tc_filter(rule);
  Remedy remedy;
  for (const Pass& pass : all) {
    for (const auto& range : ranges) {
      for (const auto& part : masked(range)) remedy.run(tc_filter(rule, pass, part));
    }
  }
  return remedy;
}

bool is_active(const RemedyFor& what, const char* front_end) {
  return std::count(what.front_ends.begin(), what.front_ends.end(), front_end) > 0;
}

// ufw keeps the user's rules in ufw-user-input and -output, behind its own; what lies before those
// cannot be reached by its command. Its policies are the kernel's chains'.
std::optional<Remedy> ufw_remedy(const FilterRule& rule, const Pass& pass, const Ranges& ranges) {
  const bool user = rule.chain.starts_with("ufw-user-") || rule.chain.starts_with("ufw6-user-");
  const bool behind =
      rule.chain.starts_with("ufw-after-") || rule.chain.starts_with("ufw6-after-") ||
      rule.chain.starts_with("ufw-reject-") || rule.chain.starts_with("ufw6-reject-") ||
      rule.chain.starts_with("ufw-skip-to-policy") || rule.chain.starts_with("ufw6-skip-to-policy");
  const bool policy = rule.is_policy && (rule.chain == "INPUT" || rule.chain == "OUTPUT");
  if (rule.table != "filter" || !(user || behind || policy)) return std::nullopt;
  if (!pass.to_ports) return std::nullopt;  // ufw lets answers pass by itself, before all this
  Remedy remedy;
  for (const Ranges& part : split_ranges(ranges, 15)) {
    CommandWords words = {"ufw"};
    if (user) words.emplace_back("prepend");
    add_words(words, {"allow", pass.incoming ? Word("in") : Word("out"), "proto", "tcp", "from",
                      address(pass.source), "to", address(pass.destination), "port",
                      ports_word(part, ":", ",")});
    remedy.run(words);
  }
  return remedy;
}

// firewalld names its chains after zones: filter_IN_public_deny, IN_public_deny. What a zone denies
// is asked before what it allows, unless a rich rule has a negative priority.
std::optional<Remedy> firewalld_remedy(const FilterRule& rule, const Pass& pass,
                                       const Ranges& ranges) {
  const bool own = rule.table == "firewalld" || rule.chain.starts_with("IN_") ||
                   rule.chain.starts_with("INPUT_");
  if (!own || !pass.incoming || !pass.to_ports) return std::nullopt;
  const std::string& chain = rule.chain;
  std::string zone;
  bool before_denials = false;
  const size_t in = chain.find("IN_");
  if (in == 0 || chain.compare(0, in, "filter_") == 0) {
    if (in != std::string::npos) zone = chain.substr(in + 3);
  }
  for (const char* part : {"_pre", "_log", "_deny", "_allow", "_post"}) {
    const size_t at = zone.rfind(part);
    if (at == std::string::npos || at + std::string(part).size() != zone.size()) continue;
    zone.resize(at);
    before_denials = part[1] == 'p' || part[1] == 'd' || part[1] == 'l';
    break;
  }
  if (!zone.empty() && !fits(Slot::kNftName, zone)) return std::nullopt;
  Remedy remedy;
  for (const auto& range : ranges) {
    CommandWords words = {"firewall-cmd"};
    if (!zone.empty()) words.push_back("--zone=" + slot(Slot::kNftName, zone));
    Word line = "--add-rich-rule=rule" +
                (before_denials ? Word(" priority=\"-32768\"") : Word("")) + " family=\"" +
                (pass.v6 ? Word("ipv6") : Word("ipv4")) + "\" source address=\"" +
                address(pass.source) + "\" destination address=\"" + address(pass.destination) +
                "\" port port=\"" + ports_word({range}, "-", ",") + "\" protocol=\"tcp\" accept";
    words.push_back(line);
    remedy.run(words);
  }
  return remedy;
}

// By the front end that owns the rule, else by the tool that made it.
Remedy remedy_by_tool(const FilterRule& rule, const RemedyFor& what, const std::vector<Pass>& all,
                      const Ranges& ranges) {
  if (is_active(what, "ufw") && rule.tool != "tc") {
    if (const auto remedy = ufw_remedy(rule, all[0], ranges)) return *remedy;
  }
  if (is_active(what, "firewalld") && rule.tool != "tc") {
    if (const auto remedy = firewalld_remedy(rule, all[0], ranges)) return *remedy;
  }
  if (rule.tool == "nftables") return nft_remedy(rule, all, ranges);
  if (rule.tool == "iptables" || rule.tool == "ip6tables") {
    return iptables_remedy(rule, all, ranges);
  }
  if (rule.tool == "ebtables") return ebtables_remedy(rule, all, ranges);
  if (rule.tool == "tc") return tc_remedy(rule, all, ranges);
  return {};
}

}  // namespace

Remedy remedy_for_rule(const FilterRule& policy_or_rule, const RemedyFor& asked) {
  const bool earlier = policy_or_rule.is_policy && asked.left_by != nullptr;
  const FilterRule& rule = earlier ? *asked.left_by : policy_or_rule;
  const auto own = parse_zoned_ip(asked.own_ip);
  const auto peer = parse_zoned_ip(asked.peer_ip);
  const Ranges ranges = port_ranges(asked.ports);
  if (!own || !peer || own->v6 != peer->v6 || ranges.empty()) return {};
  RemedyFor what = asked;
  what.own_ip = to_text(*own);
  what.peer_ip = to_text(*peer);
  const std::vector<Pass> all = passes(rule, what, own->v6, ranges.front().first);
  if (all.empty()) return {};
  Remedy remedy = remedy_by_tool(rule, what, all, ranges);
  return remedy.commands().empty() ? Remedy() : remedy;
}

}  // namespace plumbline
