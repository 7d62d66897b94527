// Is something broken? The one answer to that from the checks and findings of the probes, for
// everybody who says it: doctor, a run, its page, JUnit, checklists. So what is shown as FAIL, the
// verdict and the exit code never disagree. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"

namespace plumbline {

// A check that findings explain is only as bad as the worst of these: where all that is behind it
// is a warning or a note, it is a warning or a note. One that nothing explains stands as it came
// out.
class Standings {
 public:
  explicit Standings(const std::vector<Finding>& findings);
  Standing of(const Check& check) const;
  bool explained(const Check& check) const { return worst_.count(check.key) != 0; }

 private:
  std::map<std::string, Severity> worst_;  // by the key of the check
};

enum class Health { kOk, kWarn, kFail };
// "ok", "warn", "fail": the verdict.
const char* to_string(Health health);

// kFail: something is broken, and whoever asked ends with exit code 2. That is so when a finding
// fails, or a check stands as failed; kWarn likewise. Notes, skipped and unknown checks break
// nothing.
Health health_of(const std::vector<Check>& checks, const std::vector<Finding>& findings);

// Failed checks that no finding explains, in their order: broken, and nobody knows why.
std::vector<const Check*> unexplained_failures(const std::vector<Check>& checks,
                                               const std::vector<Finding>& findings);

}  // namespace plumbline
