// iptables-save and ip6tables-save: iptables(8), iptables-extensions(8); ebtables-save:
// ebtables(8).
#include <algorithm>
#include <utility>

#include "core/number.h"
#include "core/text.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/parse_filters.h"
#include "probes/filters/save_text.h"

namespace plumbline {
namespace {

// A rule that is being read.
struct Reading {
  FilterRule rule;
  std::vector<std::string> either_port;  // multiport --ports: source or destination
  bool either_negated = false;
};

// "80", "80:90", "5:" or a list of them, as values "80-90".
std::vector<std::string> ports(const std::string& text) {
  std::vector<std::string> values;
  for (std::string part : split_words(text, ',')) {
    const size_t colon = part.find(':');
    if (colon != std::string::npos) {
      const std::string first = part.substr(0, colon), last = part.substr(colon + 1);
      part = (first.empty() ? "0" : first) + "-" + (last.empty() ? "65535" : last);
    }
    values.push_back(std::move(part));
  }
  return values;
}

std::vector<std::string> names(const std::string& text) {
  std::string name = text;
  if (!name.empty() && name.back() == '+') name.back() = '*';
  return {name};
}

std::vector<std::string> lower_list(const std::string& text) {
  return split_words(lower_case(text), ',');
}

std::vector<std::string> protocol(const std::string& text) { return {protocol_name(text)}; }
std::vector<std::string> as_it_is(const std::string& text) { return {text}; }
std::vector<std::string> list(const std::string& text) { return split_words(text, ','); }

struct OptionRow {
  const char* name;
  const char* key;
  std::vector<std::string> (*values)(const std::string& text);
};

// Options with one value that are one condition each.
constexpr OptionRow kOptions[] = {
    {"-p", "protocol", protocol},
    {"-s", "saddr", list},
    {"-d", "daddr", list},
    {"-i", "iif", names},
    {"-o", "oif", names},
    {"--sport", "sport", ports},
    {"--dport", "dport", ports},
    {"--source-port", "sport", ports},
    {"--destination-port", "dport", ports},
    {"--sports", "sport", ports},
    {"--dports", "dport", ports},
    {"--state", "state", lower_list},
    {"--ctstate", "state", lower_list},
    {"--ctstatus", "status", lower_list},
    {"--ctdir", "direction", lower_list},
    {"--src-range", "saddr", as_it_is},
    {"--dst-range", "daddr", as_it_is},
    {"--src-type", "saddr_type", lower_list},
    {"--dst-type", "daddr_type", lower_list},
    {"--length", "length", ports},
    {"--mark", "mark", as_it_is},
    {"--pkt-type", "pkttype", lower_list},
    {"--limit", "limit", as_it_is},
    {"--hashlimit", "limit", as_it_is},
    {"--hashlimit-upto", "limit", as_it_is},
    {"--hashlimit-above", "limit", as_it_is},
};

// Options that only refine others and decide nothing themselves; with a value, or without.
constexpr const char* kSilent[] = {
    "--comment",        "--limit-burst",          "--hashlimit-burst",
    "--hashlimit-mode", "--hashlimit-name",       "--hashlimit-htable-size",
    "--mode",           "--hashlimit-htable-max", "--hashlimit-htable-expire",
    "--packet",         "--hashlimit-srcmask",    "--hashlimit-htable-gcinterval",
};

// Modules whose conditions are all among the options; of others the name alone is a condition.
constexpr const char* kModules[] = {
    "tcp",   "udp",     "sctp",     "multiport", "conntrack", "state",     "statistic", "limit",
    "mark",  "comment", "addrtype", "iprange",   "length",    "hashlimit", "pkttype",   "physdev",
    "owner", "set",     "recent",   "connlimit", "mac",       "icmp",      "icmp6",
};

void read_share(Reading& reading, const std::string& option, const std::string& value,
                bool negated) {
  double share = 1;
  if (option == "--every") {
    const auto every = parse_number(value);
    if (every && *every > 0) share = 1.0 / static_cast<double>(*every);
  } else if (const auto number = parse_decimal(value)) {
    share = std::clamp(*number, 0.0, 1.0);
  } else {
    reading.rule.matches.push_back(other_match(option + " " + value));
  }
  reading.rule.share *= negated ? 1 - share : share;
}

void read_condition(Reading& reading, const std::string& option, SaveWords& words, bool negated) {
  if (const OptionRow* row = find_row(kOptions, option)) {
    const std::string value = words.next();
    if (option == "-p" && (value == "all" || value == "0")) return;
    reading.rule.matches.push_back(make_match(row->key, row->values(value), negated));
  } else if (option == "--tcp-flags") {
    const std::string mask = lower_case(words.next()), set = lower_case(words.next());
    reading.rule.matches.push_back(make_match("tcp_flags", {set + "/" + mask}, negated));
  } else if (option == "--syn") {
    reading.rule.matches.push_back(make_match("tcp_flags", {"syn"}, negated));
  } else if (option == "--probability" || option == "--every") {
    read_share(reading, option, words.next(), negated);
  } else if (option == "--ports") {
    reading.either_port = ports(words.next());
    reading.either_negated = negated;
  } else if (is_among(kSilent, option)) {
    if (words.value_follows() || option == "--comment") words.next();
  } else {
    const std::string value = words.values();
    reading.rule.matches.push_back(
        other_match((negated ? "! " : "") + option + (value.empty() ? "" : " " + value)));
  }
}

std::string reject_name(const std::string& text) {
  if (text == "tcp-reset") return "tcp reset";
  if (text.rfind("icmp6-", 0) == 0) return "icmpv6 " + text.substr(6);
  if (text.rfind("icmp-", 0) == 0) return "icmp " + text.substr(5);
  return text;
}

void read_target_option(Reading& reading, const std::string& option, SaveWords& words) {
  const std::string value = words.values();
  FilterRule& rule = reading.rule;
  if (option == "--reject-with") rule.reject_with = reject_name(value);
  if (option == "--to-destination" || option == "--to-ports" || option == "--to" ||
      option == "--on-port") {
    rule.target = value;
  }
  if (option == "--notrack") rule.effects.emplace_back("notrack");
  if (option == "--queue-bypass") rule.action = "accept";
}

// --ports matches either end: a rule for each, or both at once when negated.
std::vector<FilterRule> with_either_port(const Reading& reading) {
  if (reading.either_port.empty()) return {reading.rule};
  FilterRule source = reading.rule, destination = reading.rule;
  source.matches.push_back(make_match("sport", reading.either_port, reading.either_negated));
  destination.matches.push_back(make_match("dport", reading.either_port, reading.either_negated));
  if (!reading.either_negated) return {source, destination};
  source.matches.push_back(destination.matches.back());
  return {source};
}

std::vector<FilterRule> read_rule(const FilterRule& where, SaveWords& words) {
  Reading reading{where, {}, false};
  bool negated = false, behind_target = false;
  while (!words.done()) {
    const std::string word = words.next();
    if (word == "!") {
      negated = true;
      continue;
    }
    if (word == "-m") {
      const std::string module = words.next();
      if (!is_among(kModules, module)) {
        reading.rule.matches.push_back(other_match("-m " + module));
      }
    } else if (word == "-j" || word == "-g") {
      apply_iptables_target(words.next(), reading.rule);
      if (word == "-g" && reading.rule.action == "jump") reading.rule.action = "goto";
      if (where.family == "ip6" && reading.rule.action == "reject") {
        reading.rule.reject_with = "icmpv6 port-unreachable";
      }
      behind_target = true;
    } else if (behind_target) {
      read_target_option(reading, word, words);
    } else {
      read_condition(reading, word, words, negated);
    }
    negated = false;
  }
  // REDIRECT without a port leaves the port as it is.
  if (reading.rule.action == "redirect" && reading.rule.target.empty()) {
    const bool redirect = where.text.find("-j REDIRECT") != std::string::npos;
    if (redirect) reading.rule.action = "accept";
  }
  return with_either_port(reading);
}

// Of a base chain; empty for the user's.
std::string hook_of(const std::string& chain) {
  static constexpr const char* kChains[] = {"PREROUTING", "INPUT", "FORWARD", "OUTPUT",
                                            "POSTROUTING"};
  return is_among(kChains, chain) ? lower_case(chain) : "";
}

// Priorities of the kernel's tables: linux/netfilter_ipv4.h.
void place_chain(FilterRule& chain) {
  chain.hook = hook_of(chain.chain);
  static constexpr std::pair<const char*, int> kPriorities[] = {
      {"raw", -300}, {"mangle", -150}, {"nat", -100}, {"filter", 0}, {"security", 50}};
  for (const auto& [table, priority] : kPriorities) {
    if (chain.table == table) chain.priority = priority;
  }
  if (chain.table != "nat") return;
  chain.chain_type = "nat";
  if (chain.hook == "input" || chain.hook == "postrouting") chain.priority = 100;
}

// What only ebtables has.
std::vector<std::string> frame_type(const std::string& text) {
  const std::string name = lower_case(text);
  if (name == "ipv4" || name == "0800" || name == "0x800" || name == "0x0800") return {"ip"};
  if (name == "ipv6" || name == "86dd" || name == "0x86dd") return {"ip6"};
  if (name == "arp" || name == "0806" || name == "0x806" || name == "0x0806") return {"arp"};
  return {name};
}
std::vector<std::string> port_range(const std::string& text) {
  std::string value = text;
  std::replace(value.begin(), value.end(), ':', '-');
  return {value};
}
std::vector<std::string> packet_type(const std::string& text) {
  return {text == "host" || text == "otherhost" ? "unicast" : text};
}

constexpr OptionRow kFrameOptions[] = {
    {"-p", "family", frame_type},
    {"-i", "iif", names},
    {"--in-if", "iif", names},
    {"-o", "oif", names},
    {"--out-if", "oif", names},
    {"--ip-src", "saddr", as_it_is},
    {"--ip-source", "saddr", as_it_is},
    {"--ip-dst", "daddr", as_it_is},
    {"--ip-proto", "protocol", protocol},
    {"--ip-protocol", "protocol", protocol},
    {"--ip-destination", "daddr", as_it_is},
    {"--ip-sport", "sport", port_range},
    {"--ip-source-port", "sport", port_range},
    {"--ip-dport", "dport", port_range},
    {"--ip-destination-port", "dport", port_range},
    {"--ip6-src", "saddr", as_it_is},
    {"--ip6-dst", "daddr", as_it_is},
    {"--ip6-proto", "protocol", protocol},
    {"--ip6-sport", "sport", port_range},
    {"--ip6-dport", "dport", port_range},
    {"--pkttype-type", "pkttype", packet_type},
    {"--limit", "limit", as_it_is},
};

std::vector<FilterRule> read_frame_rule(const FilterRule& where, SaveWords& words) {
  FilterRule rule = where;
  bool negated = false, behind_target = false;
  while (!words.done()) {
    const std::string word = words.next();
    if (word == "!") {
      negated = true;
      continue;
    }
    // Newer versions put the negation behind the option.
    const OptionRow* row = find_row(kFrameOptions, word);
    if (word == "-j") {
      apply_iptables_target(words.next(), rule);
      behind_target = true;
    } else if (behind_target || word == "--limit-burst") {
      words.values();
    } else if (row != nullptr) {
      std::string value = words.next();
      if (value == "!") {
        negated = true;
        value = words.next();
      }
      rule.matches.push_back(make_match(row->key, row->values(value), negated));
    } else {
      rule.matches.push_back(other_match(word + " " + words.values()));
    }
    negated = false;
  }
  return {rule};
}

// Priorities: linux/netfilter_bridge.h.
void place_frame_chain(FilterRule& chain) {
  chain.hook = chain.chain == "BROUTING" ? "prerouting" : hook_of(chain.chain);
  if (chain.table == "broute") chain.hook.clear();  // decides whether to bridge at all
  chain.priority = chain.table == "filter" ? -200 : -300;
  if (chain.table == "nat" && chain.hook == "output") chain.priority = 100;
  if (chain.table == "nat" && chain.hook == "postrouting") chain.priority = 300;
}

}  // namespace

Status parse_iptables_save(const std::string& text, const std::string& tool,
                           std::vector<FilterRule>& rules) {
  const bool v6 = tool == "ip6tables";
  const SaveFormat format{v6 ? "ip6tables" : "iptables", true, place_chain, read_rule};
  return parse_save_text(text, format, v6 ? "ip6" : "ip", rules);
}

Status parse_ebtables_save(const std::string& text, std::vector<FilterRule>& rules) {
  const SaveFormat format{"ebtables", false, place_frame_chain, read_frame_rule};
  return parse_save_text(text, format, "bridge", rules);
}

}  // namespace plumbline
