// What tests of the rules share: all checks of the pair probes, and findings as short lines.
#pragma once

#include <string>
#include <vector>

#include "probes/judges/judges.h"
#include "probes/rules/rules.h"

namespace plumbline::test {

inline std::vector<Check> pair_checks(const EvidenceSet& set) {
  std::vector<Check> out;
  for (const auto judge :
       {judge_icmp, judge_firewall, judge_tcp_connect, judge_mtu, judge_quality}) {
    for (Check& check : judge(set, {})) out.push_back(std::move(check));
  }
  return out;
}

// "cause host>peer"; what is no failure with "(warn)" or "(note)" behind it.
inline std::string named(const Finding& finding) {
  std::string out = finding.cause + " " + finding.host;
  if (!finding.peer.empty()) out += ">" + finding.peer;
  if (finding.outcome != Severity::kFail) {
    out += std::string(" (") + to_string(finding.outcome) + ")";
  }
  return out;
}
inline std::vector<std::string> named(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.push_back(named(finding));
  return out;
}

// What one table of rules proposes for this evidence, without the choice of find_causes.
inline std::vector<std::string> proposed(const std::vector<RuleRow>& rules,
                                         const EvidenceSet& set) {
  std::vector<std::string> out;
  for (const RankedCandidate& one : proposals(rules, set, {})) {
    out.push_back(named(one.candidate.finding));
  }
  return out;
}

}  // namespace plumbline::test
