// The probes `software` and `artifact`: have all hosts the same versions, variables and files?
#include "core/ranges.h"
#include "core/text.h"
#include "probes/checks.h"
#include "probes/judges/judges.h"
#include "probes/rules/equal_hosts.h"

namespace plumbline {

using enum Standing;

std::vector<Check> judge_software(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (EqualityVerdict& verdict : software_verdicts(evidence)) {
    checks.push_back(std::move(verdict.check));
  }
  return checks;
}

std::vector<Check> judge_artifact(const EvidenceSet& evidence, const ProbeParams& params) {
  const auto given = params.find("path");
  std::vector<std::string> paths;
  for (std::string& path : comma_list(given == params.end() ? std::string() : given->second)) {
    if (!is_in(paths, path)) paths.push_back(std::move(path));
  }
  if (paths.empty()) paths = artifact_paths(evidence);
  std::vector<Check> checks;
  for (const std::string& path : paths) {
    for (EqualityVerdict& verdict : artifact_verdicts(evidence, path)) {
      checks.push_back(std::move(verdict.check));
    }
  }
  if (!paths.empty()) return checks;
  for (const HostEvidence& host : evidence.hosts) {
    checks.push_back(make_check({"artifact", host.name}, kSkipped,
                                "no path was given: --model PATH, or `path` in the scenario"));
  }
  return checks;
}

}  // namespace plumbline
