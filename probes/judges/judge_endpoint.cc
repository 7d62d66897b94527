// The probe `endpoint`: is a server of language models there for every host, and does it answer?
#include "probes/checks.h"
#include "probes/judges/judges.h"
#include "probes/rules/endpoint_verdicts.h"

namespace plumbline {

std::vector<Check> judge_endpoint(const EvidenceSet& evidence, const ProbeParams& params) {
  const auto url = params.find("url");
  const std::string only = url == params.end() ? std::string() : url->second;
  std::vector<Check> checks;
  for (EndpointVerdict& verdict : endpoint_verdicts(evidence, only)) {
    checks.push_back(std::move(verdict.check));
  }
  if (!checks.empty()) return checks;
  for (const HostEvidence& host : evidence.hosts) {
    checks.push_back(make_check({"endpoint", host.name}, CheckOutcome::kUnknown,
                                "no server was asked from this host"));
  }
  return checks;
}

}  // namespace plumbline
