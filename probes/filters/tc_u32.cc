#include "probes/filters/tc_u32.h"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <optional>

#include "core/host/ip.h"
#include "core/json.h"
#include "probes/filters/net_values.h"
#include "probes/filters/parse_limits.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

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
std::optional<int> prefix_of(uint32_t mask) {
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
  const int ones = std::popcount(mask);
  if (ones == 0 || mask != (0xffffU << (16 - ones) & 0xffffU)) return std::nullopt;
  return std::to_string(value) + "-" + std::to_string(value | (~mask & 0xffffU));
}

void add_ports(const U32Word& word, FilterRule& rule, bool& known) {
  const struct {
    const char* key;
    uint32_t value, mask;
  } halves[] = {{"sport", word.value >> 16, word.mask >> 16},
                {"dport", word.value & 0xffff, word.mask & 0xffff}};
  for (const auto& half : halves) {
    if (half.mask == 0) continue;
    const auto value = port_value(half.value, half.mask);
    if (!value) {
      known = false;
    } else {
      rule.matches.push_back(make_match(half.key, {*value}));
    }
  }
}

// The fields of an IPv4 header without options.
bool add_v4(const U32Word& word, FilterRule& rule) {
  if (word.mask == 0) return true;
  if (word.offset == 8 && word.mask == 0xff0000) {
    rule.matches.push_back(
        make_match("protocol", {protocol_name(std::to_string(word.value >> 16 & 0xff))}));
    return true;
  }
  if (word.offset == 12 || word.offset == 16) {
    const auto prefix = prefix_of(word.mask);
    if (!prefix) return false;
    rule.matches.push_back(make_match(word.offset == 12 ? "saddr" : "daddr",
                                      {ip_text(word.value) + "/" + std::to_string(*prefix)}));
    return true;
  }
  bool known = word.offset == 20;
  if (known) add_ports(word, rule, known);
  return known;
}

// Of IPv6 the next header, the ports, and the addresses word by word.
bool add_v6(const U32Word& word, FilterRule& rule) {
  if (word.mask == 0) return true;
  if (word.offset == 4 && word.mask == 0xff00) {
    rule.matches.push_back(
        make_match("protocol", {protocol_name(std::to_string(word.value >> 8 & 0xff))}));
    return true;
  }
  if (word.offset >= 8 && word.offset < 40 && word.offset % 4 == 0) {
    const int64_t part = (word.offset - 8) / 4 % 4;
    Ip value, mask;
    value.v6 = mask.v6 = true;
    for (size_t i = 0; i < 4; ++i) {
      const size_t byte = static_cast<size_t>(part) * 4 + i;
      value.bytes[byte] = static_cast<uint8_t>(word.value >> (24 - 8 * i));
      mask.bytes[byte] = static_cast<uint8_t>(word.mask >> (24 - 8 * i));
    }
    rule.matches.push_back(
        make_match(word.offset < 24 ? "saddr" : "daddr", {to_text(value) + "/" + to_text(mask)}));
    return true;
  }
  bool known = word.offset == 40;
  if (known) add_ports(word, rule, known);
  return known;
}

}  // namespace

void read_tc_u32(const Json& options, FilterRule& rule) {
  bool v6 = false;
  for (const FilterMatch& match : rule.matches) {
    if (match.key == "family" && match.values == std::vector<std::string>{"ip6"}) v6 = true;
  }
  for (const auto& [name, match] : options.items()) {
    if (name.rfind("match#", 0) != 0) continue;
    const auto word = word_of(match);
    if (!word || !(v6 ? add_v6(*word, rule) : add_v4(*word, rule))) {
      rule.matches.push_back(other_match("u32 " + match.dump()));
    }
  }
}

}  // namespace plumbline
