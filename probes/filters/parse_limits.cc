#include "probes/filters/parse_limits.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/lower_case.h"
#include "probes/filters/net_values.h"

namespace plumbline {

Status check_filter_text(const std::string& text, const std::string& what, bool json) {
  if (text.size() > kMostFilterText) {
    return fail(ErrorCode::kProtocol,
                what + ": more than " + std::to_string(kMostFilterText >> 20) + " MiB of rules");
  }
  if (!json) return {};
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kMostFilterDepth) {
        return fail(ErrorCode::kProtocol, what + ": brackets nest too deep");
      }
    } else if (!quoted && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return {};
}

std::string rule_text(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  if (text.size() > kMostRuleText) {
    size_t end = kMostRuleText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    text += " ...";
  }
  return text;
}

FilterMatch make_match(std::string key, std::vector<std::string> values, bool negated) {
  return {std::move(key), negated, std::move(values)};
}

FilterMatch other_match(const std::string& text) { return {"other", false, {rule_text(text)}}; }

std::string protocol_name(const std::string& text) {
  const std::string name = lower_case(text);
  static constexpr std::pair<const char*, const char*> kNames[] = {
      {"1", "icmp"},         {"6", "tcp"},    {"17", "udp"},
      {"58", "icmpv6"},      {"132", "sctp"}, {"ipv6-icmp", "icmpv6"},
      {"ip6-icmp", "icmpv6"}};
  const auto known = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const auto& row) { return name == row.first; });
  return known == std::end(kNames) ? name : known->second;
}

void add_new_tables(std::vector<FilterRule> found, std::vector<FilterRule>& rules) {
  const auto key = [](const FilterRule& rule) {
    const bool tc = rule.tool == "tc";
    return std::make_tuple(rule.tool, rule.variant, tc ? rule.hook : rule.family,
                           tc ? rule.device : rule.table);
  };
  std::set<std::tuple<std::string, std::string, std::string, std::string>> known;
  for (const FilterRule& rule : rules) known.insert(key(rule));
  for (FilterRule& rule : found) {
    if (known.count(key(rule)) == 0) rules.push_back(std::move(rule));
  }
}

}  // namespace plumbline
