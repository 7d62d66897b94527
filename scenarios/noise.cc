#include "scenarios/noise.h"

#include <algorithm>
#include <set>

namespace plumbline {
namespace {

enum Row : size_t { kOversubscribed, kLoad, kSpread, kShort, kSwitches, kWarmup };

constexpr NoiseThreshold kTable[] = {
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
};

bool timed(const Record& record) { return record.cell.kind != "check" && record.time_ns.n > 0; }

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
  const auto& extra = record.measurement.extra;
  const auto it = extra.find(kInvoluntarySwitches);
  const double operations =
      static_cast<double>(record.measurement.iterations) * std::max(1, record.cell.ranks);
  return it != extra.end() && operations > 0 && it->second / operations > kTable[kSwitches].value;
}

}  // namespace

std::span<const NoiseThreshold> noise_thresholds() { return kTable; }

Noise judge_noise(const Record& record, int64_t clock_call_ns) {
  const Measurement& m = record.measurement;
  Noise noise;
  if (m.wrong.value_or(0) > 0) noise.causes.emplace_back("wrong data");
  if (m.outcome == Outcome::kError) noise.causes.emplace_back("error");
  if (m.outcome == Outcome::kFailed && noise.causes.empty()) noise.causes.emplace_back("failed");
  if (!noise.causes.empty()) {
    noise.verdict = "invalid";
    return noise;
  }
  if (m.outcome == Outcome::kSkipped || !timed(record)) return noise;

  const Machines machines = machines_of(record.environment);
  const double ranks = record.cell.ranks;
  const auto note = [&noise](Row row) { noise.causes.emplace_back(kTable[row].cause); };
  if (machines.cores > 0 && ranks / machines.cores > kTable[kOversubscribed].value) {
    note(kOversubscribed);
  }
  if (machines.load1 >= 0 && machines.load1 - ranks > kTable[kLoad].value) note(kLoad);
  if (record.time_ns.cv.value_or(0) > kTable[kSpread].value) note(kSpread);
  const double cost = static_cast<double>(clock_call_ns);
  if (cost > 0 && record.time_ns.p50 && *record.time_ns.p50 < kTable[kShort].value * cost) {
    note(kShort);
  }
  if (too_many_switches(record)) note(kSwitches);
  if (!m.warmup_converged) note(kWarmup);
  if (!noise.causes.empty()) noise.verdict = "noisy";
  return noise;
}

}  // namespace plumbline
