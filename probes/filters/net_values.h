// The values that filter rules are made of, as text: addresses with prefixes, masks and ranges,
// numbers with ranges, interface names with wildcards. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/host/ip.h"

namespace plumbline {

// Is `ip` in "10.0.0.1", "10.0.0.0/24", "10.0.0.0/255.0.0.255" or "10.0.0.1-10.0.0.9"? Nothing when
// `value` makes no sense; false for the other address family.
std::optional<bool> address_matches(const std::string& value, const Ip& ip);

// Is `number` equal to "7", "0x7", or in "1-7"? Nothing when `value` makes no sense.
std::optional<bool> number_matches(const std::string& value, int64_t number);
// Decimal, or hexadecimal with 0x; nothing else around it.
std::optional<int64_t> parse_number(std::string_view text);

// "eth*" for all that begin with eth.
bool name_matches(const std::string& pattern, const std::string& name);

std::vector<std::string> split_words(std::string_view text, char separator);

}  // namespace plumbline
