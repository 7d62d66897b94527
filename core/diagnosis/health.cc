#include "core/diagnosis/health.h"

#include <algorithm>

namespace plumbline {

const char* to_string(Health health) {
  return health == Health::kFail ? "fail" : health == Health::kWarn ? "warn" : "ok";
}

Standings::Standings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    for (const std::string& key : finding.explains) {
      const auto [known, fresh] = worst_.emplace(key, finding.outcome);
      if (!fresh) known->second = std::max(known->second, finding.outcome);
    }
  }
}

Standing Standings::of(const Check& check) const {
  const Standing own = check.outcome;
  if (own != Standing::kWarn && own != Standing::kFail) return own;
  const auto found = worst_.find(check.key);
  return found == worst_.end() ? own : std::min(own, found->second);
}

Health health_of(const std::vector<Check>& checks, const std::vector<Finding>& findings) {
  bool fails = false, warns = false;
  for (const Finding& finding : findings) {
    fails = fails || finding.outcome == Severity::kFail;
    warns = warns || finding.outcome == Severity::kWarn;
  }
  const Standings standings(findings);
  for (const Check& check : checks) {
    const Standing standing = standings.of(check);
    fails = fails || standing == Standing::kFail;
    warns = warns || standing == Standing::kWarn;
  }
  return fails ? Health::kFail : warns ? Health::kWarn : Health::kOk;
}

std::vector<const Check*> unexplained_failures(const std::vector<Check>& checks,
                                               const std::vector<Finding>& findings) {
  const Standings standings(findings);
  std::vector<const Check*> out;
  for (const Check& check : checks) {
    if (standings.of(check) == Standing::kFail && !standings.explained(check)) {
      out.push_back(&check);
    }
  }
  return out;
}

}  // namespace plumbline
