// The numbers behind the words "outlier", "asymmetric", "lossy" and "slower than its link" of the
// links report, and "step", "drift" and "constant" of the soak report, as one table each. Plain
// constants.
#pragma once

#include <span>

#include "core/diagnosis/threshold.h"
#include "core/stats/trend.h"

namespace plumbline {

enum class LinkThreshold {
  kRateFactor,
  kLatencyFactor,
  kLatencyNs,
  kGroupGap,
  kGroupGapFew,
  kFewRates,
  kGroupShare,
  kAsymmetry,
  kLoss,
  kLostDatagrams,
  kFullLink,
  kSpeedShare,
  kSpeedFail,
  kSameHop,
  kSharedCoresBps,
  kSharedCoresFactor,
  kSharedCoresTwice,
};

enum class SoakThreshold {
  kStepChance,
  kStepShare,
  kStepSuperiority,
  kStepRounds,
  kEventRounds,
  kGrowthBytes,
  kGrowthShare,
};

std::span<const ThresholdRow<LinkThreshold>> link_threshold_table();
std::span<const ThresholdRow<SoakThreshold>> soak_threshold_table();
double threshold(LinkThreshold id);
double threshold(SoakThreshold id);
// The rule of the soak table's numbers.
StepRule soak_step_rule();

}  // namespace plumbline
