#include "probes/filters/filter_values.h"

#include <set>
#include <tuple>

#include "core/json.h"
#include "core/number.h"
#include "core/text.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(FilterMatch, key, negated, values)
PLUMBLINE_JSON_FIELDS(FilterRule, tool, variant, family, table, chain, hook, chain_type, device,
                      priority, is_policy, handle, id, matches, action, target, reject_with, share,
                      effects, text)

namespace {

// "24" or "255.255.255.0" as a mask of the family.
std::optional<Ip> parse_mask(std::string_view text, bool v6) {
  if (const auto bits = parse_number(text)) {
    if (*bits > (v6 ? 128 : 32)) return std::nullopt;
    return netmask(static_cast<int>(*bits), v6);
  }
  const auto mask = parse_zoned_ip(text);
  return mask && mask->v6 == v6 ? mask : std::nullopt;
}

}  // namespace

std::optional<bool> address_matches(const std::string& value, const Ip& ip) {
  const size_t slash = value.find('/');
  const size_t dash = value.find('-');
  const std::string_view text = value;
  const auto first = parse_zoned_ip(text.substr(0, std::min(slash, dash)));
  if (!first) return std::nullopt;
  if (slash != std::string::npos) {
    const auto mask = parse_mask(text.substr(slash + 1), first->v6);
    if (!mask) return std::nullopt;
    if (first->v6 != ip.v6) return false;
    for (size_t i = 0; i < ip.size(); ++i) {
      if (((first->bytes[i] ^ ip.bytes[i]) & mask->bytes[i]) != 0) return false;
    }
    return true;
  }
  const auto last = dash == std::string::npos ? first : parse_zoned_ip(text.substr(dash + 1));
  if (!last || last->v6 != first->v6) return std::nullopt;
  return *first <= ip && ip <= *last;
}

std::optional<int64_t> parse_number(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  return parse_whole<int64_t>(text, 0, INT64_MAX, base);
}

std::optional<std::pair<int64_t, int64_t>> parse_range(std::string_view value) {
  const size_t dash = value.find('-');
  const auto first = parse_number(value.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(value.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

std::optional<bool> number_matches(const std::string& value, int64_t number) {
  const auto range = parse_range(value);
  if (!range) return std::nullopt;
  return range->first <= number && number <= range->second;
}

bool name_matches(const std::string& pattern, const std::string& name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

std::string tcp_flag_names(uint64_t bits) {
  std::string names;
  for (size_t i = 0; i < kTcpFlags.size(); ++i) {
    if ((bits >> i & 1) != 0) names += (names.empty() ? "" : ",") + std::string(kTcpFlags[i]);
  }
  return names.empty() ? "none" : names;
}

std::string plain_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string member_text(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::string() : plain_text(*found);
}

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

std::string family_name(const std::string& text) {
  if (text == "ipv4") return "ip";
  return text == "ipv6" ? "ip6" : text;
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
