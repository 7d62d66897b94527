// `tc -j filter show`: tc(8), tc-flower(8), tc-u32(8), tc-actions(8). iproute2 6.1 repeats keys
// inside one object ("match" of u32, "control_action" of police), so these are numbered before
// reading.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/json_trouble.h"
#include "probes/filters/net_values.h"
#include "probes/filters/parse_filters.h"
#include "probes/filters/parse_limits.h"
#include "probes/filters/tc_u32.h"

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

std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// The first control action of an action: "drop".
std::string control_of(const Json& action) {
  for (const auto& [key, value] : action.items()) {
    if (key.rfind("control_action#", 0) == 0) return text_of(value, "type");
  }
  return {};
}

std::string family_value(const std::string& protocol) {
  if (protocol == "ipv4") return "ip";
  return protocol == "ipv6" ? "ip6" : protocol;
}

// "0x2/0x17" as "syn/fin,syn,rst,ack"; older versions write it without 0x.
std::string flags_value(const std::string& text) {
  static constexpr const char* kBits[] = {"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"};
  const auto names = [](std::string part) -> std::string {
    if (part.rfind("0x", 0) != 0) part.insert(0, "0x");
    const auto bits = parse_number(part);
    if (!bits) return "?";
    std::string list;
    for (size_t i = 0; i < std::size(kBits); ++i) {
      if ((*bits >> i & 1) != 0) list += (list.empty() ? "" : ",") + std::string(kBits[i]);
    }
    return list.empty() ? "none" : list;
  };
  const size_t slash = text.find('/');
  const std::string mask = slash == std::string::npos ? "ff" : text.substr(slash + 1);
  return names(text.substr(0, slash)) + "/" + names(mask);
}

FilterMatch flower_key(const std::string& name, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (name == "eth_type") return make_match("family", {family_value(text)});
  if (name == "ip_proto") return make_match("protocol", {protocol_name(text)});
  if (name == "src_ip") return make_match("saddr", {text});
  if (name == "dst_ip") return make_match("daddr", {text});
  if (name == "tcp_flags") return make_match("tcp_flags", {flags_value(text)});
  if (name == "src_port" || name == "dst_port") {
    const char* key = name == "src_port" ? "sport" : "dport";
    if (value.is_object()) {
      return make_match(key, {text_of(value, "start") + "-" + text_of(value, "end")});
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

struct KindRow {
  const char* kind;
  void (*read)(const Json& options, FilterRule& rule);
};
constexpr KindRow kKinds[] = {
    {"flower", read_flower},
    {"matchall", [](const Json&, FilterRule&) {}},
    {"u32", read_tc_u32},
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
  const std::string kind = text_of(action, "kind"), control = control_of(action);
  if (kind == "police") {
    rule.action = "drop";
    rule.matches.push_back(make_match("limit", {"police " + text_of(action, "rate")}));
    return true;
  }
  if (kind == "mirred" && text_of(action, "mirred_action") == "redirect") {
    rule.action = "redirect";
    rule.target = "interface " + text_of(action, "to_dev");
    return true;
  }
  if (kind == "gact") {
    const Json random = action.value("prob", Json());
    const std::string type = text_of(random, "random_type");
    const double every = random.is_object() && random.contains("val") && random["val"].is_number()
                             ? random["val"].get<double>()
                             : 0;
    const std::string sometimes = random.is_object() ? control_of(random) : "";
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
    rule.text += " action " + text_of(action, "kind") + " " + control_of(action);
  }
}

std::string filter_text(const Json& filter, const Json& options) {
  std::string text = text_of(filter, "kind");
  const auto keys = options.find("keys");
  if (keys != options.end() && keys->is_object()) {
    for (const auto& [name, value] : keys->items()) {
      text += " " + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  for (const auto& [name, value] : options.items()) {
    if (name.rfind("match#", 0) != 0) continue;
    text += fmt::format(" match {}/{} at {}", text_of(value, "value"), text_of(value, "mask"),
                        text_of(value, "off"));
  }
  return text;
}

// tc prints a handle as a number here and wants it in hexadecimal there.
std::string handle_of(const Json& options) {
  if (options.contains("fh")) return text_of(options, "fh");
  const auto handle = options.find("handle");
  if (handle == options.end() || !handle->is_number_unsigned()) return text_of(options, "handle");
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
  rule.table = text_of(filter, "kind");
  rule.chain = filter.contains("chain") ? text_of(filter, "chain") : "0";
  rule.hook = direction;
  rule.device = device;
  rule.id = handle_of(*options);
  const auto pref = filter.find("pref");
  if (pref != filter.end() && pref->is_number_integer()) rule.handle = pref->get<int64_t>();
  const std::string protocol = text_of(filter, "protocol");
  if (protocol != "all" && !protocol.empty()) {
    rule.matches.push_back(make_match("family", {family_value(protocol)}));
  }
  rule.text = filter_text(filter, *options);
  read_actions(*options, rule);
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const KindRow& row) { return rule.table == row.kind; });
  if (kind != std::end(kKinds)) {
    kind->read(*options, rule);
  } else {
    rule.matches.push_back(other_match("classifier " + rule.table));
    rule.action = "drop";  // a program may answer anything
  }
  if (rule.action == "goto") {
    // {"type":"goto","chain":5}, or "goto chain 5" in one word.
    for (const Json& action : options->value("actions", Json::array())) {
      for (const auto& [key, value] : action.items()) {
        if (key.rfind("control_action#", 0) == 0) rule.target = text_of(value, "chain");
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
