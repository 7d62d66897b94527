// Which findings of the ladder concern somebody's own job: faults of the network between hosts
// where it does not get on, and hosts that could not be asked. That a host's clock is off, or that
// its own name is not its data address, harms no job that runs.
#include <algorithm>

#include "core/ranges.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

bool is_network_rung(int rung) {
  return rung == kRungLaunch || (rung >= kRungLink && rung <= kRungMtu);
}

bool is_about_stuck(const Finding& finding, const std::vector<StuckPair>& stuck) {
  return any_of(stuck, [&](const StuckPair& pair) {
    const bool host = finding.host == pair.from || finding.host == pair.to;
    const bool peer = finding.peer.empty() || finding.peer == pair.from || finding.peer == pair.to;
    return host && peer;
  });
}

// The same fault, seen on a free port beside the job's: the rule that stops the job's own port says
// more.
bool is_said_by_job(const Finding& finding, const std::vector<RuleRow>& rules,
                    const std::vector<RankedCandidate>& proposals) {
  if (!finding.cause.starts_with("firewall.")) return false;
  return any_of(proposals, [&](const RankedCandidate& other) {
    const Finding& own = other.candidate.finding;
    const auto is_end = [&](const std::string& host) {
      return host.empty() || host == own.host || host == own.peer;
    };
    return rules.at(other.row).is_of_job() && other.candidate.proven &&
           own.cause.starts_with("firewall.") && is_end(finding.host) && is_end(finding.peer);
  });
}

}  // namespace

std::vector<RankedCandidate> in_job_scope(const EvidenceSet& evidence,
                                          const std::vector<RuleRow>& rules,
                                          std::vector<RankedCandidate> proposals) {
  const auto facts = job_facts(evidence);
  if (!facts) return proposals;
  const std::vector<StuckPair> stuck = stuck_pairs(*facts);
  std::vector<RankedCandidate> kept;
  for (const RankedCandidate& ranked : proposals) {
    const Finding& finding = ranked.candidate.finding;
    const bool of_network = finding.outcome == Severity::kFail && is_network_rung(ranked.rung) &&
                            !is_said_by_job(finding, rules, proposals);
    const bool concerns = ranked.rung == kRungLaunch || is_about_stuck(finding, stuck);
    // By the model of the library that the job has loaded (stacks/job_plan.h).
    const bool of_stack = rules.at(ranked.row).name == std::string_view("stack") &&
                          finding.outcome == Severity::kFail;
    if (rules.at(ranked.row).is_of_job() || of_stack || (of_network && concerns)) {
      kept.push_back(ranked);
    }
  }
  return kept;
}

}  // namespace plumbline
