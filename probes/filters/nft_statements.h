// Statements of one rule of nft's JSON as rules in the normal form. Only for the readers in this
// folder. Pure functions, thread-safe; they may throw nlohmann::json::exception.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "probes/filters/filter_rule.h"
#include "probes/filters/nft_expressions.h"

namespace plumbline {

// `rule` has where it sits and its text; `statements` is nft's "expr". One rule becomes several
// when it holds a verdict map or a set of tuples, all with its handle.
std::vector<FilterRule> nft_rules_of(const FilterRule& rule, const nlohmann::json& statements,
                                     const NftSets& sets);

}  // namespace plumbline
