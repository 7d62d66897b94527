// ebtables-save: ebtables(8).
#include <algorithm>
#include <utility>

#include "core/lower_case.h"
#include "probes/filters/iptables_targets.h"
#include "probes/filters/net_values.h"
#include "probes/filters/parse_filters.h"
#include "probes/filters/parse_limits.h"
#include "probes/filters/save_text.h"

namespace plumbline {
namespace {

std::vector<std::string> frame_type(const std::string& text) {
  const std::string name = lower_case(text);
  if (name == "ipv4" || name == "0800" || name == "0x800" || name == "0x0800") return {"ip"};
  if (name == "ipv6" || name == "86dd" || name == "0x86dd") return {"ip6"};
  if (name == "arp" || name == "0806" || name == "0x806" || name == "0x0806") return {"arp"};
  return {name};
}
std::vector<std::string> name(const std::string& text) {
  std::string pattern = text;
  if (!pattern.empty() && pattern.back() == '+') pattern.back() = '*';
  return {pattern};
}
std::vector<std::string> range(const std::string& text) {
  std::string value = text;
  std::replace(value.begin(), value.end(), ':', '-');
  return {value};
}
std::vector<std::string> as_it_is(const std::string& text) { return {text}; }
std::vector<std::string> protocol(const std::string& text) { return {protocol_name(text)}; }
std::vector<std::string> packet_type(const std::string& text) {
  return {text == "host" || text == "otherhost" ? "unicast" : text};
}

struct OptionRow {
  const char* name;
  const char* key;
  std::vector<std::string> (*values)(const std::string& text);
};
constexpr OptionRow kOptions[] = {
    {"-p", "family", frame_type},
    {"-i", "iif", name},
    {"--in-if", "iif", name},
    {"-o", "oif", name},
    {"--out-if", "oif", name},
    {"--ip-src", "saddr", as_it_is},
    {"--ip-source", "saddr", as_it_is},
    {"--ip-dst", "daddr", as_it_is},
    {"--ip-proto", "protocol", protocol},
    {"--ip-protocol", "protocol", protocol},
    {"--ip-destination", "daddr", as_it_is},
    {"--ip-sport", "sport", range},
    {"--ip-source-port", "sport", range},
    {"--ip-dport", "dport", range},
    {"--ip-destination-port", "dport", range},
    {"--ip6-src", "saddr", as_it_is},
    {"--ip6-dst", "daddr", as_it_is},
    {"--ip6-proto", "protocol", protocol},
    {"--ip6-sport", "sport", range},
    {"--ip6-dport", "dport", range},
    {"--pkttype-type", "pkttype", packet_type},
    {"--limit", "limit", as_it_is},
};

std::vector<FilterRule> read_rule(const FilterRule& where, SaveWords& words) {
  FilterRule rule = where;
  bool negated = false, behind_target = false;
  while (!words.done()) {
    const std::string word = words.next();
    if (word == "!") {
      negated = true;
      continue;
    }
    // Newer versions put the negation behind the option.
    const auto row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                  [&](const OptionRow& known) { return word == known.name; });
    if (word == "-j") {
      apply_iptables_target(words.next(), rule);
      behind_target = true;
    } else if (behind_target || word == "--limit-burst") {
      words.values();
    } else if (row != std::end(kOptions)) {
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
void place(FilterRule& chain) {
  static constexpr std::pair<const char*, const char*> kHooks[] = {
      {"PREROUTING", "prerouting"}, {"BROUTING", "prerouting"},     {"INPUT", "input"},
      {"FORWARD", "forward"},       {"POSTROUTING", "postrouting"}, {"OUTPUT", "output"}};
  for (const auto& [name_of_chain, hook] : kHooks) {
    if (chain.chain == name_of_chain) chain.hook = hook;
  }
  if (chain.table == "broute") chain.hook.clear();  // decides whether to bridge at all
  chain.priority = chain.table == "filter" ? -200 : -300;
  if (chain.table == "nat" && chain.hook == "output") chain.priority = 100;
  if (chain.table == "nat" && chain.hook == "postrouting") chain.priority = 300;
}

}  // namespace

Status parse_ebtables_save(const std::string& text, std::vector<FilterRule>& rules) {
  const SaveFormat format{"ebtables", false, place, read_rule};
  return parse_save_text(text, format, "bridge", rules);
}

}  // namespace plumbline
