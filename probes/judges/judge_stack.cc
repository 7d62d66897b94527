// The probe `stack`: would the user's own library find its way here? Only where --stack names one.
#include <fmt/format.h>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/judges/judges.h"
#include "probes/rules/stack_traps.h"

namespace plumbline {

using enum Standing;

namespace {

Check judge_rank(const StackPlan& plan, const StackRank& rank) {
  const Subject subject = {"stack", rank.host, {}, {}, fmt::format("rank {}", rank.rank)};
  if (!rank.ip.empty()) {
    return make_check(
        subject, kPass,
        fmt::format("{} takes {} {}: {}", plan.stack, rank.interface, rank.ip, rank.reason));
  }
  return make_check(subject, kUnknown,
                    rank.cannot.empty() ? "it takes no address of its own" : rank.cannot);
}

}  // namespace

std::vector<Check> judge_stack(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  if (!evidence.stack) return checks;
  for (const StackRank& rank : evidence.stack->ranks) {
    checks.push_back(judge_rank(*evidence.stack, rank));
  }
  for (const StackTrap& trap : traps_of(evidence)) {
    const bool fails = trap.severity == "fail";
    checks.push_back(make_check(stack_subject(trap),
                                fails                     ? kFail
                                : trap.severity == "warn" ? kWarn
                                                          : kPass,
                                trap.text));
  }
  return checks;
}

}  // namespace plumbline
