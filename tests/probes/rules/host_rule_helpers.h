// Asks the rules about hosts alone, for tests of each rule: what they propose, and whether what
// they propose is whole.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "evidence_builder.h"
#include "probes/judges/judges.h"
#include "probes/rules/rules.h"

namespace plumbline::test {

// The checks of the ladder's lower half, as judge_evidence gives them.
inline std::vector<Check> host_checks(const EvidenceSet& set) {
  std::vector<Check> out;
  for (const auto judge : {judge_config, judge_ports, judge_name, judge_launch, judge_host,
                           judge_link, judge_ip, judge_neighbour, judge_route, judge_rdma}) {
    for (Check& check : judge(set, {})) out.push_back(std::move(check));
  }
  return out;
}

inline const Check* check_with(const std::vector<Check>& checks, const std::string& key) {
  for (const Check& check : checks) {
    if (check.key == key) return &check;
  }
  return nullptr;
}
// The outcome of the check with this key; a failure when there is none.
inline CheckOutcome outcome_of(const std::vector<Check>& checks, const std::string& key) {
  const Check* check = check_with(checks, key);
  if (check == nullptr) {
    ADD_FAILURE() << "no check " << key;
    return CheckOutcome::kSkipped;
  }
  return check->outcome;
}

// Everything that must hold for whatever the judges and rules say.
inline void expect_sound(const std::vector<Check>& checks, const std::vector<Candidate>& proposed) {
  std::set<std::string> keys;
  for (const Check& check : checks) {
    EXPECT_TRUE(keys.insert(check.key).second) << check.key << " stands twice";
    EXPECT_FALSE(check.reason.empty()) << check.key;
    EXPECT_EQ(check.reason.find('\n'), std::string::npos) << check.key;
  }
  for (const Candidate& candidate : proposed) {
    const Finding& finding = candidate.finding;
    EXPECT_FALSE(finding.host.empty()) << finding.cause;
    EXPECT_FALSE(finding.remedy.empty()) << finding.cause;
    EXPECT_FALSE(finding.evidence.empty()) << finding.cause;
    for (const Evidence& evidence : finding.evidence) {
      EXPECT_FALSE(evidence.text.empty()) << finding.cause;
    }
    EXPECT_GT(finding.confidence, 0) << finding.cause;
    EXPECT_LE(finding.confidence, 1) << finding.cause;
    const bool note = finding.outcome == Severity::kNote;
    EXPECT_TRUE(!note || candidate.breaks.empty()) << finding.cause;
    for (const std::string& key : finding.explains) {
      EXPECT_EQ(keys.count(key), 1u) << finding.cause << " explains an unknown check " << key;
    }
  }
}

// All that the rules about hosts propose.
inline std::vector<Candidate> propose(const EvidenceSet& set) {
  const std::vector<Check> checks = host_checks(set);
  std::vector<Candidate> out;
  for (RankedCandidate& one : proposals(host_rules(), set, checks)) {
    out.push_back(std::move(one.candidate));
  }
  expect_sound(checks, out);
  return out;
}

// "link.down@mini2 ip.missing@mini3": cause and host of each, in the order of the rules.
inline std::string causes_of(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates) {
    const Finding& finding = candidate.finding;
    const std::string one = finding.cause + "@" + finding.host;
    if ((" " + text + " ").find(" " + one + " ") != std::string::npos) continue;
    text += (text.empty() ? "" : " ") + one;
  }
  return text;
}
inline std::string causes_of(const EvidenceSet& set) { return causes_of(propose(set)); }

// The first candidate of this cause; a failure and an empty one when there is none.
inline Candidate candidate_of(const EvidenceSet& set, const std::string& cause) {
  std::vector<Candidate> all = propose(set);
  for (Candidate& candidate : all) {
    if (candidate.finding.cause == cause) return std::move(candidate);
  }
  ADD_FAILURE() << "no " << cause << " among: " << causes_of(all);
  return {};
}

// What is left after selection, by hosts' rules and pairs' rules together.
inline std::string root_causes(const EvidenceSet& set) {
  std::vector<Check> checks = host_checks(set);
  for (const auto judge :
       {judge_icmp, judge_firewall, judge_tcp_connect, judge_mtu, judge_quality}) {
    for (Check& check : judge(set, {})) checks.push_back(std::move(check));
  }
  std::string text;
  for (const Finding& finding : find_causes(set, checks)) {
    text += (text.empty() ? "" : " ") + finding.cause + "@" + finding.host;
  }
  return text;
}

// Pairs between this host and all others, both ways.
inline OrderedPairs all_pairs(const EvidenceSet& set, const std::string& name) {
  return pairs_of(set, name);
}

}  // namespace plumbline::test
