// Readers of what packet filters say about themselves. Each takes the text that a tool printed and
// adds rules in their normal form, in the order of evaluation inside each chain, each base chain's
// policy last. What is not understood stays as a condition "other" with its text, so that nothing
// is judged to pass by accident. Broken, truncated or hostile text gives an Error and adds nothing;
// so does text beyond 64 MiB, 64 levels or 250000 rules. A table that was read already, from
// another command that prints it too, is not added again. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

// `nft -j list ruleset`; sets, maps, anonymous sets and intervals are resolved into the conditions'
// values.
Status parse_nft_json(const std::string& text, std::vector<FilterRule>& rules);
// `nft list ruleset` as plain text: adds to the rules that parse_nft_json read what nft 1.0.6
// leaves out of its JSON: the devices of ingress and egress chains, and which tables are dormant
// (their rules are taken out).
Status parse_nft_text(const std::string& text, std::vector<FilterRule>& rules);
// `iptables-save`, `ip6tables-save`, `iptables-legacy-save`; tool = "iptables" | "ip6tables". Which
// variant it is stands in the text's first line.
Status parse_iptables_save(const std::string& text, const std::string& tool,
                           std::vector<FilterRule>& rules);
// `ebtables-save` or `ebtables-legacy-save`.
Status parse_ebtables_save(const std::string& text, std::vector<FilterRule>& rules);
// `tc -j filter show dev DEV ingress` (or egress): flower, u32, matchall and basic filters with
// gact or police actions.
Status parse_tc_filters(const std::string& text, const std::string& device,
                        const std::string& direction, std::vector<FilterRule>& rules);

}  // namespace plumbline
