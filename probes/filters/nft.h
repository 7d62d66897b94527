// nft's JSON (libnftables-json(5)): what a condition asks of the packet, as conditions in the
// normal form, and as the text that nft prints; the statements of one rule as rules in the normal
// form. Only for the readers in this folder. Pure functions, thread-safe; they may throw
// nlohmann::json::exception.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "probes/filters/filter_rule.h"

namespace plumbline {

// Elements of the named set or map "@name", or nullptr.
using NftSets = std::function<const nlohmann::json*(const std::string& name)>;

// Conditions that must all hold, and how often they do.
struct NftCondition {
  std::vector<FilterMatch> matches;
  double share = 1;
};

// Ways in which {"match": ...} can hold: any of them. One, but for a set of tuples, where each
// tuple is one. Empty = never.
std::vector<NftCondition> nft_match(const nlohmann::json& match, const NftSets& sets);
// The same for a key of a verdict map and one of its elements' keys.
std::vector<NftCondition> nft_key_is(const nlohmann::json& key, const nlohmann::json& value,
                                     const NftSets& sets);
// The elements of {"set": [...]}, "@name" or a single value.
std::vector<nlohmann::json> nft_elements(const nlohmann::json& value, const NftSets& sets);

// "tcp dport { 1, 3-5 }".
std::string nft_text(const nlohmann::json& expression);
std::string nft_statement_text(const nlohmann::json& statement);

// `rule` has where it sits and its text; `statements` is nft's "expr". One rule becomes several
// when it holds a verdict map or a set of tuples, all with its handle.
std::vector<FilterRule> nft_rules_of(const FilterRule& rule, const nlohmann::json& statements,
                                     const NftSets& sets);

}  // namespace plumbline
