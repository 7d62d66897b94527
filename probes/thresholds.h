// Every number above or below which a probe warns, in one table with its unit and its reason, so
// that a warning can be argued with. Thread-safe.
#pragma once

#include <span>

#include "core/diagnosis/threshold.h"

namespace plumbline {

enum class Threshold {
  kRanksPerCore,
  kLoadPerCore,
  kClockCallNs,
  kBufferShare,
  kBufferTuned,
  kDescriptorsPerPeer,
  kSpareDescriptors,
  kResolveMs,
  kConnectMs,
  kConntrackShare,
  kClockSkewMs,
  kCarrierChanges,
  kCarrierChangesDuring,
  kCarrierChangesSome,
  kCarrierChangesAgain,
  kErrorsDuringCheck,
  kSpeedShare,
  kFasterLink,
  kLockedMemory,
  kStallMs,
  kLossQuick,
  kLossDeep,
  kLossExcluded,
  kLossFail,
  kRateShare,
  kRateFail,
  kRateRatio,
  kCpuFull,
  kBufferFull,
  kSharedCoresBps,
  kSharedCoresRatio,
  kLatencyRatio,
  kLatencyMs,
  kTemperatureStep,
};

std::span<const ThresholdRow<Threshold>> threshold_table();
double threshold(Threshold id);

}  // namespace plumbline
