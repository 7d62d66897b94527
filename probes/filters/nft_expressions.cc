#include <algorithm>
#include <array>
#include <optional>

#include "core/json.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/nft.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostTuples = 2048;     // of a set of tuples; each becomes a rule
constexpr size_t kMostElements = 65536;  // of any set; larger ones are not understood

// What the left side of a condition reads from the packet.
struct NftField {
  std::string key;                   // of FilterMatch; empty = not understood; "numgen"
  std::vector<FilterMatch> implied;  // must hold too: the field exists only in such packets
  const Json* mask = nullptr;        // of `field & mask`; lives in the text that is read
  double numgen_mod = 0;
};

struct NftFieldRow {
  const char* owner;  // "tcp", "meta"
  const char* field;
  const char* key;
};
constexpr NftFieldRow kFields[] = {
    {"ip", "saddr", "saddr"},       {"ip", "daddr", "daddr"},
    {"ip", "protocol", "protocol"}, {"ip", "length", "length"},
    {"ip6", "saddr", "saddr"},      {"ip6", "daddr", "daddr"},
    {"ip6", "nexthdr", "protocol"}, {"tcp", "sport", "sport"},
    {"tcp", "dport", "dport"},      {"tcp", "flags", "tcp_flags"},
    {"udp", "sport", "sport"},      {"udp", "dport", "dport"},
    {"sctp", "sport", "sport"},     {"sctp", "dport", "dport"},
    {"th", "sport", "sport"},       {"th", "dport", "dport"},
    {"ether", "type", "family"},    {"arp", "saddr ip", "saddr"},
    {"arp", "daddr ip", "daddr"},   {"meta", "iif", "iif"},
    {"meta", "iifname", "iif"},     {"meta", "oif", "oif"},
    {"meta", "oifname", "oif"},     {"meta", "l4proto", "protocol"},
    {"meta", "nfproto", "family"},  {"meta", "protocol", "family"},
    {"meta", "length", "length"},   {"meta", "mark", "mark"},
    {"meta", "pkttype", "pkttype"}, {"ct", "state", "state"},
    {"ct", "status", "status"},     {"ct", "direction", "direction"},
};

std::string find_key(const std::string& owner, const std::string& field) {
  for (const NftFieldRow& row : kFields) {
    if (owner == row.owner && field == row.field) return row.key;
  }
  return {};
}

std::vector<FilterMatch> implied_by(const std::string& protocol) {
  if (protocol == "ip" || protocol == "ip6" || protocol == "arp") {
    return {make_match("family", {protocol})};
  }
  if (protocol == "ether" || protocol == "th" || protocol == "vlan") return {};
  return {make_match("protocol", {protocol_name(protocol)})};
}

// fib daddr type: the only question to the routing table that can be answered from outside.
std::string fib_key(const Json& fib) {
  if (string_member(fib, "result") != "type") return {};
  Json flags = fib.value("flags", Json());
  if (flags.is_array() && flags.size() == 1) flags = flags[0];
  if (flags == "daddr") return "daddr_type";
  return flags == "saddr" ? "saddr_type" : "";
}

// `@th,16,16` is what older rules write for the destination port.
std::string raw_key(const Json& payload) {
  if (string_member(payload, "base") != "th" || payload.value("len", 0) != 16) return {};
  const int offset = payload.value("offset", -1);
  return offset == 0 ? "sport" : (offset == 16 ? "dport" : "");
}

NftField field_of(const Json& left) {
  NftField field;
  if (!left.is_object() || left.size() != 1) return field;
  const std::string& kind = left.begin().key();
  const Json& body = left.begin().value();
  if (kind == "&" && body.is_array() && body.size() == 2) {
    field = field_of(body[0]);
    field.mask = &body[1];
    const bool known = field.key == "tcp_flags" || field.key == "mark" || field.key == "saddr" ||
                       field.key == "daddr";
    if (!known) field.key.clear();
  } else if (!body.is_object()) {
    return field;
  } else if (kind == "payload" && body.contains("protocol")) {
    const std::string protocol = string_member(body, "protocol");
    field.key = find_key(protocol, string_member(body, "field"));
    field.implied = implied_by(protocol);
  } else if (kind == "payload") {
    field.key = raw_key(body);
  } else if (kind == "meta" || (kind == "ct" && !body.contains("dir"))) {
    field.key = find_key(kind, string_member(body, "key"));
  } else if (kind == "fib") {
    field.key = fib_key(body);
  } else if (kind == "numgen" && body.value("offset", 0) == 0) {
    field.key = "numgen";
    field.numgen_mod = body.value("mod", 0.0);
  }
  return field;
}

// "syn,ack" of "syn", ["syn", "ack"], {"|": [...]} or 18.
std::optional<std::string> flags_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.size() == 1 && value.contains("|")) return flags_of(value["|"]);
  if (value.is_number_unsigned() && value.get<uint64_t>() < 256) {
    return tcp_flag_names(value.get<uint64_t>());
  }
  if (!value.is_array()) return std::nullopt;
  std::string text;
  for (const Json& item : value) {
    if (!item.is_string()) return std::nullopt;
    text += (text.empty() ? "" : ",") + item.get<std::string>();
  }
  return text.empty() ? "none" : text;
}

std::optional<std::string> plain_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const std::string& kind = value.begin().key();
  const Json& body = value.begin().value();
  if (kind == "prefix" && body.is_object()) {
    const Json length = body.value("len", Json());
    if (!length.is_number_integer()) return std::nullopt;
    return string_member(body, "addr") + "/" + length.dump();
  }
  if (kind == "range" && body.is_array() && body.size() == 2) {
    const auto first = plain_value(body[0]), last = plain_value(body[1]);
    if (!first || !last) return std::nullopt;
    return *first + "-" + *last;
  }
  return std::nullopt;
}

// One element as a value of the condition `field.key`.
std::optional<std::string> value_of(const NftField& field, const Json& element) {
  if (field.key == "tcp_flags") {
    const auto flags = flags_of(element);
    const auto mask =
        field.mask == nullptr ? std::optional(tcp_flag_names(0xff)) : flags_of(*field.mask);
    if (!flags || !mask) return std::nullopt;
    return *flags + "/" + *mask;
  }
  auto value = plain_value(element);
  if (!value) return value;
  if (field.mask != nullptr) {
    const auto mask = plain_value(*field.mask);
    if (!mask) return std::nullopt;
    return *value + "/" + *mask;
  }
  if (field.key == "protocol") return protocol_name(*value);
  return field.key == "family" ? family_name(*value) : *value;
}

std::vector<FilterMatch> not_understood(const NftField& field, const Json& text) {
  std::vector<FilterMatch> matches = field.implied;
  matches.push_back(other_match(nft_text(text)));
  return matches;
}

// How often a random number below `mod` is one of these.
std::optional<double> numgen_share(const NftField& field, const std::string& op,
                                   const std::vector<Json>& elements) {
  if (!(field.numgen_mod >= 1)) return std::nullopt;
  double count = 0;
  for (const Json& element : elements) {
    const auto value = plain_value(element);
    const auto range = value ? parse_range(*value) : std::nullopt;
    if (!range || range->second < range->first) return std::nullopt;
    const auto first = static_cast<double>(range->first);
    count += static_cast<double>(range->second) - first + 1;
    if (op == "<") count = first;
    if (op == "<=") count = first + 1;
    if (op == ">") count = field.numgen_mod - first - 1;
    if (op == ">=") count = field.numgen_mod - first;
  }
  const double share = std::clamp(count / field.numgen_mod, 0.0, 1.0);
  return op == "!=" ? 1 - share : share;
}

// "70-65535" for >= 70.
std::optional<std::string> range_of(const std::string& op, const std::string& value) {
  const auto number = parse_number(value);
  if (!number || *number > 0x7fffffff) return std::nullopt;
  const std::string most = "4294967295";
  if (op == ">=") return value + "-" + most;
  if (op == ">") return std::to_string(*number + 1) + "-" + most;
  if (op == "<=") return "0-" + value;
  if (*number == 0) return std::nullopt;
  return "0-" + std::to_string(*number - 1);
}

NftCondition condition(const NftField& field, const std::string& op,
                       const std::vector<Json>& elements, const Json& text) {
  if (field.key == "numgen") {
    if (const auto share = numgen_share(field, op, elements)) return {{}, *share};
    return {not_understood(field, text), 1};
  }
  const bool ordered = op[0] == '<' || op[0] == '>';
  const bool countable = field.key == "sport" || field.key == "dport" || field.key == "length";
  const bool negated = op == "!=" || op == "!";
  const bool known_op = negated || op == "==" || op == "in" || (ordered && countable);
  if (field.key.empty() || !known_op) return {not_understood(field, text), 1};
  FilterMatch match = make_match(field.key, {}, negated);
  const bool any_flag = field.key == "tcp_flags" && (op == "in" || op == "!");
  for (const Json& element : elements) {
    auto value = any_flag ? flags_of(element) : value_of(field, element);
    if (value && any_flag) value = "any/" + *value;
    if (value && ordered) value = range_of(op, *value);
    if (!value) return {not_understood(field, text), 1};
    match.values.push_back(*value);
  }
  NftCondition result{field.implied, 1};
  result.matches.push_back(std::move(match));
  return result;
}

// Elements of sets may be wrapped, to say more about them.
Json unwrapped(const Json& item) {
  const bool wrapped = item.is_object() && item.contains("elem") && item["elem"].is_object();
  return wrapped ? item["elem"].value("val", Json()) : item;
}

// Conditions of several fields at once: one way for each tuple.
std::vector<NftCondition> tuples(const Json& fields, const std::vector<Json>& elements,
                                 const Json& text) {
  std::vector<NftCondition> ways;
  if (elements.size() > kMostTuples) return {{{other_match(nft_text(text))}, 1}};
  for (const Json& element : elements) {
    const auto parts = element.is_object() ? element.find("concat") : element.end();
    if (!element.is_object() || parts == element.end() || !parts->is_array() ||
        parts->size() != fields.size()) {
      return {{{other_match(nft_text(text))}, 1}};
    }
    NftCondition way;
    for (size_t i = 0; i < fields.size(); ++i) {
      NftCondition one = condition(field_of(fields[i]), "==", {(*parts)[i]}, text);
      way.share *= one.share;
      std::move(one.matches.begin(), one.matches.end(), std::back_inserter(way.matches));
    }
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace

std::vector<Json> nft_elements(const Json& value, const NftSets& sets) {
  const Json* list = &value;
  if (value.is_string() && value.get_ref<const std::string&>().rfind('@', 0) == 0) {
    list = sets(value.get_ref<const std::string&>().substr(1));
    if (list == nullptr) return {Json()};  // not there: no value is understood
  } else if (value.is_object() && value.contains("set")) {
    list = &value["set"];
  } else if (!value.is_array()) {
    return {value};
  }
  if (!list->is_array()) return {*list};
  if (list->size() > kMostElements) return {Json()};
  std::vector<Json> elements;
  for (const Json& item : *list) elements.push_back(unwrapped(item));
  return elements;
}

std::vector<NftCondition> nft_match(const Json& match, const NftSets& sets) {
  const Json& left = match.at("left");
  const Json& right = match.at("right");
  const std::string op = match.at("op").get<std::string>();
  const Json text = {{"concat", {left, right}}};
  if (op.empty()) return {{{other_match(nft_text(text))}, 1}};
  if (left.is_object() && left.contains("concat") && left["concat"].is_array()) {
    if (op != "==") return {{{other_match(nft_text(text))}, 1}};
    return tuples(left["concat"], nft_elements(right, sets), text);
  }
  const NftField field = field_of(left);
  // A list of flags is one value of several bits; a list of states means any of them.
  if (field.key == "tcp_flags" && right.is_array()) return {condition(field, op, {right}, text)};
  return {condition(field, op, nft_elements(right, sets), text)};
}

std::vector<NftCondition> nft_key_is(const Json& key, const Json& value, const NftSets& sets) {
  const Json text = {{"concat", {key, value}}};
  const Json plain = unwrapped(value);
  if (key.is_object() && key.contains("concat") && key["concat"].is_array()) {
    return tuples(key["concat"], {plain}, text);
  }
  const NftField field = field_of(key);
  if (field.key == "tcp_flags" && plain.is_array()) return {condition(field, "==", {plain}, text)};
  if (plain.is_string() && plain == "*") return {NftCondition{}};  // what no other element takes
  return {condition(field, "==", nft_elements(plain, sets), text)};
}

}  // namespace plumbline
