// The verdict beside each number.
#include "core/stats/noise.h"

#include <gtest/gtest.h>

#include <set>

#include "core/record/record.h"

namespace plumbline {
namespace {

constexpr int64_t kClockNs = 25;

Record quiet() {
  Record record;
  record.cell.kind = CellKind::kLatency;
  record.cell.op = "allreduce";
  record.cell.ranks = 2;
  record.measurement.warmup_converged = true;
  for (int i = 0; i < 100; ++i) record.measurement.samples_ns.push_back(20'000 + i * 10);
  for (const int64_t ns : record.measurement.samples_ns) record.measurement.hist.add(ns);
  record.measurement.iterations = 100;
  HostFacts host;
  host.hostname = "a";
  host.boot_id = "boot-a";
  host.cores_usable = 2;
  host.load1 = 0.3;
  record.environment.hosts = {host};
  recompute(record);
  return record;
}

using Causes = std::vector<std::string>;

Causes noisy(Record record) {
  recompute(record);
  const Noise noise = judge_noise(record, kClockNs);
  EXPECT_EQ(noise.verdict, noise.causes.empty() ? "clean" : "noisy");
  return noise.causes;
}

TEST(Noise, AQuietRowIsClean) { EXPECT_EQ(noisy(quiet()), Causes{}); }

TEST(Noise, WrongDataAndErrorsAreInvalid) {
  Record record = quiet();
  record.measurement.wrong = 3;
  record.measurement.outcome = Outcome::kFailed;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "invalid");
  EXPECT_EQ(judge_noise(record, kClockNs).causes, Causes{"wrong data"});
  record = quiet();
  record.measurement.outcome = Outcome::kError;
  EXPECT_EQ(judge_noise(record, kClockNs).causes, Causes{"error"});
  record.measurement.outcome = Outcome::kFailed;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "invalid");
  // Wrong elements count even where the outcome claims otherwise.
  record = quiet();
  record.measurement.wrong = 1;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "invalid");
  record.measurement.wrong = 0;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "clean");
}

TEST(Noise, WindowTimingIsHeldAgainstItsClocksAndItsLateStarts) {
  Record record = quiet();  // 100 samples of 20 us
  record.cell.sync = "window";
  record.measurement.extra[kClockError] = 2000;
  record.measurement.extra[kLateSamples] = 100;
  EXPECT_EQ(noisy(record), Causes{});
  record.measurement.extra[kClockError] = 2100;
  EXPECT_EQ(noisy(record), Causes{"clock error"});
  record.measurement.extra[kClockError] = 0;
  record.measurement.extra[kLateSamples] = 101;
  EXPECT_EQ(noisy(record), Causes{"late samples"});

  record.measurement.extra[kClockBreaks] = 1;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "invalid");
  EXPECT_EQ(judge_noise(record, kClockNs).causes, Causes{"clock jumped"});
  record.measurement.extra[kClockBreaks] = 0;
  record.measurement.samples_ns.clear();
  record.measurement.hist = {};
  recompute(record);
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "invalid");
  EXPECT_EQ(judge_noise(record, kClockNs).causes, Causes{"every sample late"});
}

TEST(Noise, Oversubscribed) {
  Record record = quiet();
  record.cell.ranks = 3;
  EXPECT_EQ(noisy(record), Causes{"oversubscribed"});
  // A lab of namespaces on one machine: more host entries, not more cores.
  record.environment.hosts.push_back(record.environment.hosts[0]);
  record.environment.hosts[1].hostname = "b";
  EXPECT_EQ(noisy(record), Causes{"oversubscribed"});
  record.environment.hosts[1].boot_id = "boot-b";
  EXPECT_EQ(noisy(record), Causes{});
}

// Correctness does not suffer from it, but its reader should know why it took so long.
TEST(Noise, AnOversubscribedCheckSaysSoAndStaysClean) {
  Record record = quiet();
  record.cell.kind = CellKind::kCheck;
  record.cell.ranks = 64;
  const Noise noise = judge_noise(record, kClockNs);
  EXPECT_EQ(noise.verdict, "clean");
  EXPECT_EQ(noise.causes, Causes{"oversubscribed"});
  record.cell.ranks = 2;
  record.environment.hosts[0].load1 = 50;
  EXPECT_EQ(judge_noise(record, kClockNs).causes, Causes{});
}

TEST(Noise, LoadBeyondOneProcessPerRank) {
  Record record = quiet();
  record.environment.hosts[0].load1 = 2.9;  // the ranks themselves, and a little
  EXPECT_EQ(noisy(record), Causes{});
  record.environment.hosts[0].load1 = 3.1;
  EXPECT_EQ(noisy(record), Causes{"load"});
  record.environment.hosts[0].load1.reset();
  EXPECT_EQ(noisy(record), Causes{});
}

TEST(Noise, Spread) {
  Record record = quiet();
  record.measurement.samples_ns[7] = 5'000'000;
  record.measurement.hist = {};
  for (const int64_t ns : record.measurement.samples_ns) record.measurement.hist.add(ns);
  EXPECT_EQ(noisy(record), Causes{"cv"});
}

TEST(Noise, ShortIntervals) {
  Record record = quiet();
  recompute(record);
  EXPECT_EQ(judge_noise(record, 300).causes, Causes{"short interval"});
  EXPECT_EQ(judge_noise(record, 200).causes, Causes{});
  EXPECT_EQ(judge_noise(record, 0).causes, Causes{});  // cost unknown
}

TEST(Noise, InvoluntarySwitches) {
  Record record = quiet();
  record.measurement.extra[kInvoluntarySwitches] = 10;  // of 200 operations
  EXPECT_EQ(noisy(record), Causes{});
  record.measurement.extra[kInvoluntarySwitches] = 11;
  EXPECT_EQ(noisy(record), Causes{"involuntary switches"});
  record.measurement.iterations = 0;
  EXPECT_EQ(noisy(record), Causes{});
}

// Switches happen in operations that are not timed, too.
TEST(Noise, InvoluntarySwitchesAreThoseOfAllMeasuredOperations) {
  Record record = quiet();
  record.measurement.extra[kMeasuredOperations] = 200;  // 100 of them timed
  record.measurement.extra[kInvoluntarySwitches] = 20;  // of 400 operations
  EXPECT_EQ(noisy(record), Causes{});
  record.measurement.extra[kInvoluntarySwitches] = 21;
  EXPECT_EQ(noisy(record), Causes{"involuntary switches"});
}

TEST(Noise, WarmUp) {
  Record record = quiet();
  record.measurement.warmup_converged = false;
  EXPECT_EQ(noisy(record), Causes{"warm-up not converged"});
}

TEST(Noise, WhatIsNotTimedIsNotNoisy) {
  Record record = quiet();
  record.cell.kind = CellKind::kCheck;
  record.cell.ranks = 99;
  record.measurement.samples_ns.clear();
  record.measurement.hist = {};
  record.measurement.warmup_converged = false;
  EXPECT_EQ(judge_noise(record, kClockNs).verdict, "clean");
  record.cell.ranks = 2;
  EXPECT_EQ(noisy(record), Causes{});
  record.cell.ranks = 99;
  record.cell.kind = CellKind::kLatency;
  record.measurement.outcome = Outcome::kSkipped;
  EXPECT_EQ(noisy(record), Causes{});
}

TEST(Noise, EveryThresholdHasAReason) {
  std::set<std::string> causes;
  for (const NoiseThreshold& row : noise_thresholds()) {
    EXPECT_TRUE(causes.insert(row.cause).second);
    EXPECT_GT(std::string_view(row.reason).size(), 20u);
  }
  EXPECT_EQ(causes.size(), 8u);
}

}  // namespace
}  // namespace plumbline
