// The numbers behind the words "outlier", "asymmetric", "lossy" and "slower than its link" of the
// links report, as one table. Plain constants.
#pragma once

#include <span>

#include "core/diagnosis/threshold.h"

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

using LinkThresholdRow = ThresholdRow<LinkThreshold>;

std::span<const LinkThresholdRow> link_threshold_table();
double threshold(LinkThreshold id);

}  // namespace plumbline
