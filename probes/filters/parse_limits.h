// Bounds that all readers of filter rules share: whatever a host sends, reading it ends soon and
// takes a bounded amount of memory. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

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

// Adds `found` to `rules`, less those of tables that are in `rules` already.
void add_new_tables(std::vector<FilterRule> found, std::vector<FilterRule>& rules);

}  // namespace plumbline
