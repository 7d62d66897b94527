// Causes where hosts should be equal and are not: versions, variables, files of a model.
#include "probes/rules/equal_hosts.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

Candidates candidates_of(std::vector<EqualityVerdict> verdicts, const Checks& checks) {
  Candidates out;
  for (const EqualityVerdict& verdict : verdicts) {
    if (verdict.cause.empty()) continue;
    out.push_back(Proposal(verdict.cause, verdict.severity, verdict.check.host)
                      .see(verdict.check.host, verdict.check.key, verdict.check.reason)
                      .remedy(verdict.remedy)
                      .proven()
                      .take(checks));
  }
  return out;
}

}  // namespace

Candidates propose_software(const EvidenceSet& evidence, const Checks& checks) {
  return candidates_of(software_verdicts(evidence), checks);
}

Candidates propose_artifacts(const EvidenceSet& evidence, const Checks& checks) {
  return candidates_of(artifact_verdicts(evidence), checks);
}

}  // namespace plumbline
