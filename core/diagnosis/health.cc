#include "core/diagnosis/health.h"

#include <algorithm>

namespace plumbline {
namespace {

// As it came out, whatever explains it.
Standing bare(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPass:
      return Standing::kPass;
    case CheckOutcome::kWarn:
      return Standing::kWarn;
    case CheckOutcome::kFail:
      return Standing::kFail;
    case CheckOutcome::kSkipped:
      return Standing::kSkipped;
    case CheckOutcome::kUnknown:
      break;
  }
  return Standing::kUnknown;
}

Standing standing_of(Severity severity) {
  switch (severity) {
    case Severity::kFail:
      return Standing::kFail;
    case Severity::kWarn:
      return Standing::kWarn;
    case Severity::kNote:
      break;
  }
  return Standing::kNote;
}

}  // namespace

const char* to_string(Standing standing) {
  switch (standing) {
    case Standing::kPass:
      return "pass";
    case Standing::kNote:
      return "note";
    case Standing::kWarn:
      return "warn";
    case Standing::kFail:
      return "fail";
    case Standing::kSkipped:
      return "skipped";
    case Standing::kUnknown:
      break;
  }
  return "unknown";
}

const char* to_string(Health health) {
  return health == Health::kFail ? "fail" : health == Health::kWarn ? "warn" : "ok";
}

Standings::Standings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    for (const std::string& key : finding.explains) {
      const auto [known, fresh] = worst_.emplace(key, finding.outcome);
      // Severities are ordered from the worst on.
      if (!fresh) known->second = std::min(known->second, finding.outcome);
    }
  }
}

Standing Standings::of(const Check& check) const {
  const Standing own = bare(check.outcome);
  if (own != Standing::kWarn && own != Standing::kFail) return own;
  const auto found = worst_.find(check.key);
  // Notes, warnings and failures are ordered from the mildest on.
  return found == worst_.end() ? own : std::min(own, standing_of(found->second));
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
