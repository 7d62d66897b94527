// The values that filter rules are made of, as text (addresses with prefixes, masks and ranges,
// numbers with ranges, interface names with wildcards), and the bounds that all readers of rules
// share: whatever a host sends, reading it ends soon and takes a bounded amount of memory. Pure
// functions, thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/host/ip.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

// Is `ip` in "10.0.0.1", "10.0.0.0/24", "10.0.0.0/255.0.0.255" or "10.0.0.1-10.0.0.9"? Nothing when
// `value` makes no sense; false for the other address family.
std::optional<bool> address_matches(const std::string& value, const Ip& ip);

// Is `number` equal to "7", "0x7", or in "1-7"? Nothing when `value` makes no sense.
std::optional<bool> number_matches(const std::string& value, int64_t number);
// Decimal, or hexadecimal with 0x; nothing else around it.
std::optional<int64_t> parse_number(std::string_view text);
// First and last of "1-7"; of "7" twice the same.
std::optional<std::pair<int64_t, int64_t>> parse_range(std::string_view value);

// "eth*" for all that begin with eth.
bool name_matches(const std::string& pattern, const std::string& name);

std::vector<std::string> split_words(std::string_view text, char separator);

// By the bits of the TCP header.
inline constexpr std::array<const char*, 8> kTcpFlags = {"fin", "syn", "rst", "psh",
                                                         "ack", "urg", "ecn", "cwr"};
// "syn,ack" for 18, "none" for 0.
std::string tcp_flag_names(uint64_t bits);

// A JSON string as it is, anything else as JSON.
std::string plain_text(const nlohmann::json& value);
// The same of a member; empty when there is none.
std::string member_text(const nlohmann::json& object, const char* name);

// Is it one of them?
template <size_t N>
bool is_among(const char* const (&words)[N], const std::string& word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// The row of a table with this name, or nullptr.
template <typename Row, size_t N>
const Row* find_row(const Row (&rows)[N], const std::string& name) {
  for (const Row& row : rows) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

constexpr size_t kMostFilterText = 64U << 20;  // bytes of one tool's output
constexpr size_t kMostFilterRules = 250'000;
constexpr size_t kMostFilterValues = 2'000'000;  // values of all conditions of one ruleset
constexpr size_t kMostFilterDepth = 64;          // of brackets in JSON
constexpr size_t kMostRuleText = 400;            // characters kept of a rule's text

// An Error for text that is too long, or whose brackets nest too deep; `what` names the tool.
Status check_filter_text(const std::string& text, const std::string& what, bool json);

// The text without control characters, cut to kMostRuleText.
std::string rule_text(std::string text);

FilterMatch make_match(std::string key, std::vector<std::string> values, bool negated = false);
// A condition that is not understood.
FilterMatch other_match(const std::string& text);

// "tcp" for "6"; lower case; "icmpv6" for the names that tools have for it.
std::string protocol_name(const std::string& text);

// "ip" for "ipv4", "ip6" for "ipv6".
std::string family_name(const std::string& text);

// Adds `found` to `rules`, less those of tables that are in `rules` already.
void add_new_tables(std::vector<FilterRule> found, std::vector<FilterRule>& rules);

}  // namespace plumbline
