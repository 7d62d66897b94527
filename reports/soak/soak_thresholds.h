// The numbers behind the words "step", "drift" and "constant" of the soak report, as one table.
// Plain constants.
#pragma once

#include <span>

#include "core/diagnosis/threshold.h"
#include "core/stats/trend.h"

namespace plumbline {

enum class SoakThreshold {
  kStepChance,
  kStepShare,
  kStepSuperiority,
  kStepRounds,
  kEventRounds,
  kGrowthBytes,
  kGrowthShare,
};

using SoakThresholdRow = ThresholdRow<SoakThreshold>;

std::span<const SoakThresholdRow> soak_threshold_table();
double threshold(SoakThreshold id);
// The rule of the table's numbers.
StepRule soak_step_rule();

}  // namespace plumbline
