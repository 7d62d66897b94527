#include "reports/soak/soak_thresholds.h"

namespace plumbline {
namespace {

constexpr SoakThresholdRow kTable[] = {
    {SoakThreshold::kStepChance, "soak_step_chance", 0.005, "chance",
     "that noise alone gives such a step; of a thousand calm series no more than ten may have one"},
    {SoakThreshold::kStepShare, "soak_step_share", 0.05, "of the level before it",
     "less is within what a machine does by itself, and of no use to anybody"},
    {SoakThreshold::kStepSuperiority, "soak_step_superiority", 0.85, "share of pairs",
     "of a value before and one behind the step that lie in its direction: levels 1.5 standard "
     "deviations apart, with room for outliers"},
    {SoakThreshold::kStepRounds, "soak_step_rounds", 3, "rounds on each side",
     "one or two odd rounds are outliers, not a level"},
    {SoakThreshold::kEventRounds, "soak_event_rounds", 1, "rounds",
     "an event this near to a step stands beside it: hosts are looked at several times a round"},
    {SoakThreshold::kGrowthBytes, "soak_growth", 1048576, "bytes",
     "allocators take and return memory in such steps"},
    {SoakThreshold::kGrowthShare, "soak_growth_share", 0.02, "of the memory at first",
     "the same for large processes"},
};

}  // namespace

std::span<const SoakThresholdRow> soak_threshold_table() { return kTable; }

double threshold(SoakThreshold id) { return threshold_in(soak_threshold_table(), id); }

StepRule soak_step_rule() {
  StepRule rule;
  rule.alpha = threshold(SoakThreshold::kStepChance);
  rule.least_share = threshold(SoakThreshold::kStepShare);
  rule.least_superiority = threshold(SoakThreshold::kStepSuperiority);
  rule.least_rounds = static_cast<size_t>(threshold(SoakThreshold::kStepRounds));
  return rule;
}

}  // namespace plumbline
