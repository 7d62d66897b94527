// The values that filter rules are made of, as text: addresses with prefixes, masks and ranges,
// numbers with ranges, interface names with wildcards. Pure functions, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

struct NetAddress {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  size_t size() const { return v6 ? 16 : 4; }
};

// An address without prefix; an interface behind '%' is left out.
std::optional<NetAddress> parse_net_address(std::string_view text);
std::string to_text(const NetAddress& address);

// Is `ip` in "10.0.0.1", "10.0.0.0/24", "10.0.0.0/255.0.0.255" or "10.0.0.1-10.0.0.9"? Nothing when
// `value` makes no sense; false for the other address family.
std::optional<bool> address_matches(const std::string& value, const NetAddress& ip);

// Is `number` equal to "7", "0x7", or in "1-7"? Nothing when `value` makes no sense.
std::optional<bool> number_matches(const std::string& value, int64_t number);
// Decimal, or hexadecimal with 0x; nothing else around it.
std::optional<int64_t> parse_number(std::string_view text);

// "eth*" for all that begin with eth.
bool name_matches(const std::string& pattern, const std::string& name);

std::vector<std::string> split_words(std::string_view text, char separator);
std::string lower_case(std::string text);

}  // namespace plumbline
