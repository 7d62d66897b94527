// `tc -j filter show`: tc(8), tc-flower(8), tc-u32(8), tc-actions(8). iproute2 6.1 repeats keys
// inside one object ("match" of u32, "control_action" of police), so these are numbered before
// reading.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/error.h"
#include "core/host/ip.h"
#include "core/json.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/parse_filters.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

// "match":{ -> "match#000000001":{; a quotation mark inside a string is escaped, so that only keys
// can look like this.
std::string number_keys(const std::string& text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  size_t from = 0;
  for (size_t count = 0;; ++count) {
    const size_t match = text.find("\"match\":{", from);
    const size_t control = text.find("\"control_action\":{", from);
    const size_t at = std::min(match, control);
    if (at == std::string::npos) break;
    const size_t name_end = text.find('"', at + 1);
    out.append(text, from, name_end - from);
    out += fmt::format("#{:09}", count);
    from = name_end;
  }
  return out.append(text, from, std::string::npos);
}

// The first control action of an action: "drop".
std::string control_of(const Json& action) {
  for (const auto& [key, value] : action.items()) {
    if (key.rfind("control_action#", 0) == 0) return member_text(value, "type");
  }
  return {};
}

// "0x2/0x17" as "syn/fin,syn,rst,ack"; older versions write it without 0x.
std::string flags_value(const std::string& text) {
  const auto names = [](std::string part) -> std::string {
    if (part.rfind("0x", 0) != 0) part.insert(0, "0x");
    const auto bits = parse_number(part);
    return bits ? tcp_flag_names(static_cast<uint64_t>(*bits)) : "?";
  };
  const size_t slash = text.find('/');
  const std::string mask = slash == std::string::npos ? "ff" : text.substr(slash + 1);
  return names(text.substr(0, slash)) + "/" + names(mask);
}

FilterMatch flower_key(const std::string& name, const Json& value) {
  const std::string text = plain_text(value);
  if (name == "eth_type") return make_match("family", {family_name(text)});
  if (name == "ip_proto") return make_match("protocol", {protocol_name(text)});
  if (name == "src_ip") return make_match("saddr", {text});
  if (name == "dst_ip") return make_match("daddr", {text});
  if (name == "tcp_flags") return make_match("tcp_flags", {flags_value(text)});
  if (name == "src_port" || name == "dst_port") {
    const char* key = name == "src_port" ? "sport" : "dport";
    if (value.is_object()) {
      return make_match(key, {member_text(value, "start") + "-" + member_text(value, "end")});
    }
    return make_match(key, {text});
  }
  return other_match(name + " " + text);
}

void read_flower(const Json& options, FilterRule& rule) {
  const auto keys = options.find("keys");
  if (keys == options.end() || !keys->is_object()) return;
  for (const auto& [name, value] : keys->items()) rule.matches.push_back(flower_key(name, value));
}

// ---- u32, the classifier that compares raw words of the IP header ----

// One word of the packet: (word at `offset` & mask) == value.
struct U32Word {
  uint32_t value = 0, mask = 0;
  int64_t offset = 0;
};

std::optional<uint32_t> hex(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  const auto number = parse_number("0x" + found->get<std::string>());
  if (!number || *number > 0xffffffff) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::optional<U32Word> word_of(const Json& match) {
  if (!match.is_object() || !match.contains("off") || !match["off"].is_number_integer()) {
    return std::nullopt;
  }
  // An offset that is looked up in the packet ("nexthdr+0") is not followed.
  const auto moving = match.find("offmask");
  if (moving != match.end() && moving->dump() != "\"\"") return std::nullopt;
  const auto value = hex(match, "value"), mask = hex(match, "mask");
  if (!value || !mask) return std::nullopt;
  return U32Word{*value, *mask, match["off"].get<int64_t>()};
}

// Length of a mask of leading ones, or nothing.
std::optional<int> leading_ones(uint32_t mask) {
  const int ones = std::popcount(mask);
  if (ones == 0 || mask != ~uint32_t{0} << (32 - ones)) return std::nullopt;
  return ones;
}

std::string ip_text(uint32_t value) {
  return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255);
}

// Ports as ranges that a mask of leading ones in 16 bits covers.
std::optional<std::string> port_value(uint32_t value, uint32_t mask) {
  if (mask == 0xffff) return std::to_string(value);
  if (!leading_ones(mask << 16)) return std::nullopt;
  return std::to_string(value) + "-" + std::to_string(value | (~mask & 0xffffU));
}

// False when one of them cannot be read.
bool add_ports(const U32Word& word, FilterRule& rule) {
  const struct {
    const char* key;
    uint32_t value, mask;
  } halves[] = {{"sport", word.value >> 16, word.mask >> 16},
                {"dport", word.value & 0xffff, word.mask & 0xffff}};
  bool known = true;
  for (const auto& half : halves) {
    if (half.mask == 0) continue;
    const auto value = port_value(half.value, half.mask);
    if (value) rule.matches.push_back(make_match(half.key, {*value}));
    known = known && value;
  }
  return known;
}

// IPv6's come word by word.
std::string address_part(const U32Word& word) {
  const int64_t part = (word.offset - 8) / 4 % 4;
  Ip value, mask;
  value.v6 = mask.v6 = true;
  for (size_t i = 0; i < 4; ++i) {
    const size_t byte = static_cast<size_t>(part) * 4 + i;
    value.bytes[byte] = static_cast<uint8_t>(word.value >> (24 - 8 * i));
    mask.bytes[byte] = static_cast<uint8_t>(word.mask >> (24 - 8 * i));
  }
  return to_text(value) + "/" + to_text(mask);
}

// The fields of an IP header without options: protocol, addresses, and the ports behind it.
bool add_field(const U32Word& word, bool v6, FilterRule& rule) {
  if (word.mask == 0) return true;
  const unsigned shift = v6 ? 8 : 16;
  if (word.offset == (v6 ? 4 : 8) && word.mask == 0xffU << shift) {
    const std::string number = std::to_string(word.value >> shift & 0xff);
    rule.matches.push_back(make_match("protocol", {protocol_name(number)}));
    return true;
  }
  if (word.offset == (v6 ? 40 : 20)) return add_ports(word, rule);
  const bool source = word.offset < (v6 ? 24 : 16);
  std::optional<std::string> address;
  if (v6 && word.offset >= 8 && word.offset < 40 && word.offset % 4 == 0) {
    address = address_part(word);
  } else if (!v6 && (word.offset == 12 || word.offset == 16)) {
    if (const auto prefix = leading_ones(word.mask)) {
      address = ip_text(word.value) + "/" + std::to_string(*prefix);
    }
  }
  if (!address) return false;
  rule.matches.push_back(make_match(source ? "saddr" : "daddr", {*address}));
  return true;
}

// Adds the conditions of one filter's options, whose "match" keys are numbered
// ("match#000000001"). Needs the filter's "family" condition to be there already: offsets mean
// other fields in IPv6.
void read_u32(const Json& options, FilterRule& rule) {
  const FilterMatch is_v6 = make_match("family", {"ip6"});
  const bool v6 = std::count(rule.matches.begin(), rule.matches.end(), is_v6) > 0;
  for (const auto& [name, match] : options.items()) {
    if (name.rfind("match#", 0) != 0) continue;
    const auto word = word_of(match);
    if (!word || !add_field(*word, v6, rule)) {
      rule.matches.push_back(other_match("u32 " + match.dump()));
    }
  }
}

struct KindRow {
  const char* name;
  void (*read)(const Json& options, FilterRule& rule);
};
constexpr KindRow kKinds[] = {
    {"flower", read_flower},
    {"matchall", [](const Json&, FilterRule&) {}},
    {"u32", read_u32},
};

void decide(FilterRule& rule, const std::string& control) {
  if (control == "drop" || control == "shot" || control == "stolen" || control == "trap") {
    rule.action = "drop";
  } else if (control == "pass" || control == "ok") {
    rule.action = "accept";
  } else if (control.rfind("goto", 0) == 0) {
    rule.action = "goto";
  } else if (control == "continue" || control == "unspec") {
    rule.action = "continue";
  } else if (control == "reclassify") {
    rule.action = "drop";  // starts again: where that ends is not followed
    rule.matches.push_back(other_match("reclassify"));
  }
}

// One action; true when the next one is not reached.
bool read_action(const Json& action, FilterRule& rule) {
  const std::string kind = member_text(action, "kind"), control = control_of(action);
  if (kind == "police") {
    rule.action = "drop";
    rule.matches.push_back(make_match("limit", {"police " + member_text(action, "rate")}));
    return true;
  }
  if (kind == "mirred" && member_text(action, "mirred_action") == "redirect") {
    rule.action = "redirect";
    rule.target = "interface " + member_text(action, "to_dev");
    return true;
  }
  if (kind == "gact") {
    const Json random = action.value("prob", Json());
    const std::string type = member_text(random, "random_type");
    const auto val = random.find("val");
    const double every = val != random.end() && val->is_number() ? val->get<double>() : 0;
    const std::string sometimes = control_of(random);
    if (!type.empty() && type != "none" && every >= 1) {
      // Of `every` packets one gets the other action.
      const bool drops = sometimes == "drop" || sometimes == "shot";
      rule.share = drops ? 1 / every : 1 - 1 / every;
      decide(rule, drops ? sometimes : control);
      return true;
    }
    decide(rule, control);
    return control != "pipe";
  }
  if (kind == "bpf" || kind == "ct" || kind == "pedit" || kind == "nat" || kind == "tunnel_key") {
    rule.matches.push_back(other_match("action " + kind));
    rule.action = "drop";
    return true;
  }
  if (control.empty() || control == "pipe") return false;
  decide(rule, control);
  return true;
}

void read_actions(const Json& options, FilterRule& rule) {
  rule.action = "accept";  // a filter without actions only classifies, and ends the asking
  const auto actions = options.find("actions");
  if (actions == options.end() || !actions->is_array()) return;
  for (const Json& action : *actions) {
    if (action.is_object() && read_action(action, rule)) break;
  }
  for (const Json& action : *actions) {
    rule.text += " action " + member_text(action, "kind") + " " + control_of(action);
  }
}

std::string filter_text(const Json& filter, const Json& options) {
  std::string text = member_text(filter, "kind");
  const auto keys = options.find("keys");
  if (keys != options.end() && keys->is_object()) {
    for (const auto& [name, value] : keys->items()) {
      text += " " + name + " " + plain_text(value);
    }
  }
  for (const auto& [name, value] : options.items()) {
    if (name.rfind("match#", 0) != 0) continue;
    text += fmt::format(" match {}/{} at {}", member_text(value, "value"),
                        member_text(value, "mask"), member_text(value, "off"));
  }
  return text;
}

// tc prints a handle as a number here and wants it in hexadecimal there.
std::string handle_of(const Json& options) {
  if (options.contains("fh")) return member_text(options, "fh");
  const auto handle = options.find("handle");
  if (handle == options.end() || !handle->is_number_unsigned())
    return member_text(options, "handle");
  return fmt::format("{:#x}", handle->get<uint64_t>());
}

std::vector<FilterRule> read_filter(const Json& filter, const std::string& device,
                                    const std::string& direction) {
  const auto options = filter.find("options");
  if (options == filter.end() || !options->is_object()) return {};
  if (options->contains("ht_divisor")) return {};  // an empty hash table of u32
  FilterRule rule;
  rule.tool = "tc";
  rule.family = "any";
  rule.table = member_text(filter, "kind");
  rule.chain = filter.contains("chain") ? member_text(filter, "chain") : "0";
  rule.hook = direction;
  rule.device = device;
  rule.id = handle_of(*options);
  const auto pref = filter.find("pref");
  if (pref != filter.end() && pref->is_number_integer()) rule.handle = pref->get<int64_t>();
  const std::string protocol = member_text(filter, "protocol");
  if (protocol != "all" && !protocol.empty()) {
    rule.matches.push_back(make_match("family", {family_name(protocol)}));
  }
  rule.text = filter_text(filter, *options);
  read_actions(*options, rule);
  if (const KindRow* kind = find_row(kKinds, rule.table)) {
    kind->read(*options, rule);
  } else {
    rule.matches.push_back(other_match("classifier " + rule.table));
    rule.action = "drop";  // a program may answer anything
  }
  if (rule.action == "goto") {
    // {"type":"goto","chain":5}, or "goto chain 5" in one word.
    for (const Json& action : options->value("actions", Json::array())) {
      for (const auto& [key, value] : action.items()) {
        if (key.rfind("control_action#", 0) == 0) rule.target = member_text(value, "chain");
      }
    }
  }
  rule.text = rule_text(rule.text);
  return {rule};
}

}  // namespace

Status parse_tc_filters(const std::string& text, const std::string& device,
                        const std::string& direction, std::vector<FilterRule>& rules) {
  if (Status status = check_filter_text(text, "tc", true); !status) return status;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return {};  // older: prints nothing
  std::vector<FilterRule> found;
  try {
    const Json json = Json::parse(number_keys(text));
    if (!json.is_array()) return fail(ErrorCode::kProtocol, "tc: this is no list of filters");
    for (const Json& filter : json) {
      if (!filter.is_object()) continue;
      for (FilterRule& rule : read_filter(filter, device, direction)) {
        if (found.size() >= kMostFilterRules) {
          return fail(ErrorCode::kProtocol, "tc: too many filters");
        }
        found.push_back(std::move(rule));
      }
    }
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kProtocol, std::string("tc: ") + json_trouble(error));
  }
  // Asked by chain and preference, whatever order they are listed in.
  std::stable_sort(found.begin(), found.end(), [](const FilterRule& a, const FilterRule& b) {
    return a.chain != b.chain ? a.chain < b.chain : a.handle < b.handle;
  });
  add_new_tables(std::move(found), rules);
  return {};
}

}  // namespace plumbline
