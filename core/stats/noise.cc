#include "core/stats/noise.h"

#include <algorithm>
#include <set>
#include <string>

namespace plumbline {
namespace {

enum Row : size_t {
  kOversubscribed,
  kLoad,
  kSpread,
  kShort,
  kSwitches,
  kWarmup,
  kClock,
  kLateStarts
};

constexpr NoiseThreshold kNoiseTable[] = {
    {"oversubscribed", 1.0, "ranks per usable core",
     "a rank without a core of its own waits for the scheduler, milliseconds at a time"},
    {"load", 1.0, "runnable processes beyond one per rank",
     "others want the cores too; the 1-minute average of an idle machine stays below 1"},
    {"cv", 0.5, "standard deviation / mean",
     "beyond this a few slow operations decide the mean, and two runs rarely agree"},
    {"short interval", 100.0, "median / cost of reading the clock",
     "below it the clock itself is more than 1 % of what it measures"},
    {"involuntary switches", 0.05, "per operation and rank",
     "one operation in twenty lost its core in the middle: p95 and above show the scheduler"},
    {"warm-up not converged", 0.0, "",
     "the medians still moved when warming up ended: connections or clocks had not settled"},
    {"clock error", 0.1, "error bound / median",
     "window timing: each time may be wrong by so much, because the ranks' clocks are known no "
     "better"},
    {"late samples", 0.5, "of the operations tried",
     "window timing: some rank was not ready at the common start, also after the window was "
     "widened"},
};

bool timed(const Record& record) {
  return row(record.cell.kind).has_times() && record.time_ns.n > 0;
}

struct Machines {
  int cores = 0;      // usable, over distinct machines
  double load1 = -1;  // highest; < 0 unknown
};

// Hosts of a lab of namespaces are one machine: they share its boot and its cores.
Machines machines_of(const Environment& environment) {
  Machines out;
  std::set<std::string> seen;
  for (const HostFacts& host : environment.hosts) {
    const std::string& id = host.boot_id.empty() ? host.hostname : host.boot_id;
    if (seen.insert(id).second) out.cores += host.cores_usable;
    if (host.load1) out.load1 = std::max(out.load1, *host.load1);
  }
  return out;
}

bool too_many_switches(const Record& record) {
  const double switches = extra_of(record.measurement, kInvoluntarySwitches).value_or(0);
  const double operations =
      static_cast<double>(measured_operations(record.measurement)) * std::max(1, record.cell.ranks);
  return operations > 0 && switches / operations > kNoiseTable[kSwitches].value;
}

// Why times that rest on synchronised clocks are no measurement at all; empty when they are one.
std::string unusable_window(const Record& record) {
  const Measurement& m = record.measurement;
  if (m.outcome != Outcome::kPassed) return {};
  if (extra_of(m, kClockBreaks).value_or(0) > 0) return "clock jumped";
  return record.time_ns.n == 0 && extra_of(m, kLateSamples).value_or(0) > 0 ? "every sample late"
                                                                            : "";
}

bool mostly_late(const Record& record) {
  const double late = extra_of(record.measurement, kLateSamples).value_or(0);
  return late > kNoiseTable[kLateStarts].value * (late + static_cast<double>(record.time_ns.n));
}

}  // namespace

std::span<const NoiseThreshold> noise_thresholds() { return kNoiseTable; }

Noise judge_noise(const Record& record, int64_t clock_call_ns) {
  const Measurement& m = record.measurement;
  Noise noise;
  if (m.wrong.value_or(0) > 0) noise.causes.emplace_back("wrong data");
  if (m.outcome == Outcome::kError) noise.causes.emplace_back("error");
  if (m.outcome == Outcome::kFailed && noise.causes.empty()) noise.causes.emplace_back("failed");
  if (const std::string why = unusable_window(record); !why.empty()) noise.causes.push_back(why);
  if (!noise.causes.empty()) {
    noise.verdict = "invalid";
    return noise;
  }
  const CellTiming timing = row(record.cell.kind).timing;
  // Of a server's times only the machine from which it was asked is judged.
  const bool link = row(record.cell.kind).own_connections(), check = timing == CellTiming::kNothing;
  if (m.outcome == Outcome::kSkipped || (!timed(record) && !link && !check)) return noise;

  const Machines machines = machines_of(record.environment);
  const double ranks = record.cell.ranks;
  const auto note = [&noise](Row row) { noise.causes.emplace_back(kNoiseTable[row].cause); };
  if (machines.cores > 0 && ranks / machines.cores > kNoiseTable[kOversubscribed].value) {
    note(kOversubscribed);
  }
  // A right result is right on a crowded machine too; a reader who asks how long it took should
  // know.
  if (check) return noise;
  if (machines.load1 >= 0 && machines.load1 - ranks > kNoiseTable[kLoad].value) note(kLoad);
  if (link) {
    // Its samples lie in the links; only what the machine was like is judged here.
    if (!noise.causes.empty()) noise.verdict = "noisy";
    return noise;
  }
  if (record.time_ns.cv.value_or(0) > kNoiseTable[kSpread].value) note(kSpread);
  const double cost = static_cast<double>(clock_call_ns);
  if (cost > 0 && record.time_ns.p50 && *record.time_ns.p50 < kNoiseTable[kShort].value * cost) {
    note(kShort);
  }
  if (too_many_switches(record)) note(kSwitches);
  if (!m.warmup_converged) note(kWarmup);
  if (record.time_ns.p50 &&
      extra_of(m, kClockError).value_or(0) > kNoiseTable[kClock].value * *record.time_ns.p50) {
    note(kClock);
  }
  if (mostly_late(record)) note(kLateStarts);
  if (!noise.causes.empty()) noise.verdict = "noisy";
  return noise;
}

std::optional<Floor> floor_in(const Measurement& measurement) {
  constexpr double kLargest = 9007199254740992.0;  // 2^53: doubles count up to here
  for (const FloorRow& row : kFloors) {
    const std::optional<double> bytes = extra_of(measurement, row.key);
    if (!bytes) continue;
    if (!(*bytes >= 1 && *bytes <= kLargest)) return std::nullopt;
    return Floor{row.manner, static_cast<uint64_t>(*bytes)};
  }
  return std::nullopt;
}

}  // namespace plumbline
