// The clock model against clocks whose truth is known: random offsets, drifts and delays, and peers
// that lie.
#include "core/stats/clock_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace plumbline {
namespace {

constexpr int64_t kMs = 1'000'000;

// Two clocks beside true time, and the ways between them. Times in ns.
struct Simulation {
  double own_ppm = 0, reference_ppm = 0;
  int64_t own_zero = 0, reference_zero = 0;  // what they show at true time 0
  double there = 20'000, back = 20'000;      // shortest ways
  double jitter = 0;                         // mean of what comes on top, each way
  double now = 0;                            // true time
  std::mt19937_64 random{1};

  int64_t own(double t) const {
    return own_zero + std::llround(std::floor(t * (1 + own_ppm * 1e-6)));
  }
  int64_t reference(double t) const {
    return reference_zero + std::llround(std::floor(t * (1 + reference_ppm * 1e-6)));
  }
  double way(double shortest) {
    if (jitter <= 0) return shortest;
    return shortest + std::exponential_distribution<double>(1 / jitter)(random);
  }
  ClockExchange exchange() {
    ClockExchange e;
    e.sent = own(now);
    now += way(there);
    e.received = reference(now);
    now += 300;
    e.replied = reference(now);
    now += way(back);
    e.returned = own(now);
    now += 100;
    return e;
  }
  std::vector<ClockExchange> round(int count = 12) {
    std::vector<ClockExchange> all;
    for (int i = 0; i < count; ++i) all.push_back(exchange());
    return all;
  }
  // Reference minus own when the own clock shows `own_ns`.
  double truth(int64_t own_ns) const {
    const double t = static_cast<double>(own_ns - own_zero) / (1 + own_ppm * 1e-6);
    return static_cast<double>(reference_zero - own_zero) + t * (reference_ppm - own_ppm) * 1e-6;
  }
  // Beyond the stated bound by so much; negative = inside.
  double outside(const ClockModel& model, int64_t own_ns) const {
    const ClockOffset offset = model.at(own_ns);
    const int64_t zero = reference_zero - own_zero;
    const double error =
        static_cast<double>(offset.offset_ns - zero) - (truth(own_ns) - static_cast<double>(zero));
    return std::abs(error) - offset.error_ns;
  }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
};

Simulation random_simulation(uint64_t seed) {
  Simulation s;
  s.random.seed(seed);
  s.own_ppm = s.uniform(-50, 50);
  s.reference_ppm = s.uniform(-50, 50);
  // Within what a double holds to the nanosecond, so that the truth is exact.
  s.own_zero = std::llround(s.uniform(-1e14, 1e14));
  s.reference_zero = std::llround(s.uniform(-1e14, 1e14));
  s.there = s.uniform(2'000, 300'000);
  s.back = s.uniform(2'000, 300'000);
  s.jitter = s.uniform(0, 200'000);
  return s;
}

TEST(ClockModel, TheTruthIsInsideTheBoundOfAThousandEstimates) {
  const ClockLimits limits;
  int outside_now = 0, outside_later = 0, wide = 0, wrong_drift = 0, useful_drift = 0, broken = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Simulation s = random_simulation(seed);
    ClockModel model(limits);
    const int rounds = 1 + static_cast<int>(seed % 10);
    int64_t began = 0;
    for (int i = 0; i < rounds; ++i) {
      s.now += s.uniform(1e6, 3e8);
      began = s.own(s.now);
      broken += model.add_round(s.round()) != ClockModel::Round::kGood ? 1 : 0;
    }
    const int64_t ended = s.own(s.now);
    const double half = static_cast<double>(model.best_rtt_ns()) / 2;
    const double drifted = limits.max_drift_ppm * 1e-6 * static_cast<double>(ended - began);
    outside_now += s.outside(model, ended) > 0 ? 1 : 0;
    wide += model.at(ended).error_ns > half + drifted + 2 ? 1 : 0;

    const auto later = std::llround(s.uniform(0, 5e8));
    outside_later += s.outside(model, ended + later) > 0 ? 1 : 0;
    const double more = limits.max_drift_ppm * 1e-6 * static_cast<double>(later);
    wide += model.at(ended + later).error_ns > half + drifted + more + 2 ? 1 : 0;

    const ClockDrift drift = model.drift();
    wrong_drift += std::abs(drift.ppm - (s.reference_ppm - s.own_ppm)) > drift.error_ppm ? 1 : 0;
    useful_drift += drift.error_ppm < limits.max_drift_ppm ? 1 : 0;
  }
  EXPECT_LE(outside_now, 10);
  EXPECT_LE(outside_later, 10);
  EXPECT_LE(wrong_drift, 10);
  EXPECT_EQ(wide, 0);  // never more than RTT / 2 and the drift term
  EXPECT_EQ(broken, 0);
  EXPECT_GT(useful_drift, 100);  // the regression narrows what was taken for granted
}

TEST(ClockModel, UnequalWaysShiftTheMiddleButStayInside) {
  Simulation s;
  s.own_zero = 5'000 * kMs;
  s.there = 100'000;
  s.back = 10'000;
  ClockModel model;
  ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  const ClockOffset offset = model.at(s.own(s.now));
  EXPECT_LE(s.outside(model, s.own(s.now)), 0);
  EXPECT_NEAR(static_cast<double>(offset.offset_ns), -5'000.0 * kMs + 45'000, 500);
  EXPECT_NEAR(offset.error_ns, 55'000, 500);
}

TEST(ClockModel, CoarseClocksAndATranslatedReferenceWidenTheBound) {
  const auto coarse = [](int64_t ns) { return ns - ns % 1000; };
  ClockLimits limits;
  limits.resolution_ns = 1000;
  Simulation s;
  s.there = s.back = 1'500;
  for (const int64_t wrong : {-700, 0, 700}) {  // of the one that answers, within what it states
    ClockModel model(limits);
    for (int i = 0; i < 50; ++i) {
      std::vector<ClockExchange> round = s.round(1);
      for (ClockExchange& e : round) {
        e = {coarse(e.sent), e.received + wrong, e.replied + wrong, coarse(e.returned), 700};
      }
      s.now += 3'333'333;
      if (model.add_round(round) == ClockModel::Round::kUnusable) continue;
      ASSERT_LE(s.outside(model, s.own(s.now)), 0) << i;
    }
    EXPECT_TRUE(model.ready());
    EXPECT_EQ(model.breaks(), 0);
  }
}

TEST(ClockModel, TheBoundGrowsAndAFreshRoundNarrowsIt) {
  Simulation s;
  s.reference_ppm = 40;
  ClockModel model;
  ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  const int64_t first = s.own(s.now);
  // 200 ppm of 100 ms.
  EXPECT_NEAR(model.at(first + 100 * kMs).error_ns - model.at(first).error_ns, 20'000, 200);
  for (int i = 0; i < 20; ++i) {
    s.now += 100 * kMs;
    ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  }
  const int64_t last = s.own(s.now);
  EXPECT_NEAR(model.drift().ppm, 40, 1);
  EXPECT_LT(model.drift().error_ppm, 50);
  EXPECT_LT(model.at(last + 100 * kMs).error_ns - model.at(last).error_ns, 5'000);
}

TEST(ClockModel, TheFastestExchangeDecides) {
  Simulation s;
  std::vector<ClockExchange> round;
  for (int i = 0; i < 10; ++i) {
    s.there = s.back = i == 6 ? 5'000 : 50 * kMs;  // the others are asleep for a long time
    round.push_back(s.exchange());
  }
  ClockModel model;
  ASSERT_EQ(model.add_round(round), ClockModel::Round::kGood);
  EXPECT_EQ(model.best_rtt_ns(), 10'000);
  EXPECT_LT(model.at(round[6].returned).error_ns, 5'000 + 10);
}

TEST(ClockModel, OnlyAHugeRoundTripGivesAHugeButTrueBound) {
  Simulation s;
  s.there = 30e9;
  s.back = 1'000;
  s.own_zero = 77;
  ClockModel model;
  ASSERT_EQ(model.add_round(s.round(1)), ClockModel::Round::kGood);
  EXPECT_LE(s.outside(model, s.own(s.now)), 0);
  EXPECT_GT(model.at(s.own(s.now)).error_ns, 14.9e9);
}

TEST(ClockModel, LostExchangesAreMerelyMissing) {
  Simulation s;
  ClockModel model;
  EXPECT_EQ(model.add_round({}), ClockModel::Round::kUnusable);
  EXPECT_FALSE(model.ready());
  std::vector<ClockExchange> round = s.round();
  round.erase(round.begin(), round.begin() + 5);
  round.erase(round.begin() + 2, round.begin() + 4);
  EXPECT_EQ(model.add_round(round), ClockModel::Round::kGood);
  EXPECT_LE(s.outside(model, s.own(s.now)), 0);
}

TEST(ClockModel, HostileTimestampsTeachNothing) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const std::vector<ClockExchange> lies = {
      {1000, 1000, 1000, 1000, 0},             // no time passed on the way: a frozen clock
      {1000, 500, 400, 2000, 0},               // answered before it was asked
      {2000, 500, 500, 1000, 0},               // back before it left
      {1000, 0, 50'000'000, 2000, 0},          // worked for longer than the whole took
      {1000, kHuge, kHuge, 2000, 0},           // no such time
      {1000, -kHuge - 1, kHuge, 2000, 0},      // ... whose difference would overflow
      {-kHuge - 1, 0, 0, kHuge, 0},            //
      {1000, 1500, 1500, 2000, -1},            // an error below zero
      {1000, 1500, 1500, 2000, std::nan("")},  //
      {1000, 1500, 1500, 2000, HUGE_VAL},      //
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    ClockModel model;
    EXPECT_EQ(model.add_round({&lies[i], 1}), ClockModel::Round::kUnusable) << i;
    // Among honest ones it does no harm.
    Simulation s;
    std::vector<ClockExchange> round = s.round();
    round.insert(round.begin() + 3, lies[i]);
    EXPECT_EQ(model.add_round(round), ClockModel::Round::kGood) << i;
    EXPECT_LE(s.outside(model, s.own(s.now)), 0) << i;
  }
}

TEST(ClockModel, AClockThatGoesBackwardsIsRefused) {
  for (const bool reference : {true, false}) {
    Simulation s;
    std::vector<ClockExchange> round = s.round(4);
    (reference ? s.reference_zero : s.own_zero) -= 10 * kMs;
    for (const ClockExchange& e : s.round(4)) round.push_back(e);
    ClockModel model;
    EXPECT_EQ(model.add_round(round), ClockModel::Round::kUnusable) << reference;
    EXPECT_FALSE(model.ready());
  }
}

TEST(ClockModel, AJumpBetweenRoundsIsSeenWhenItExceedsTheBound) {
  for (const int64_t jump : {int64_t{60'000}, int64_t{-60'000}, 3'600'000 * kMs}) {
    Simulation s;
    ClockModel model;
    for (int i = 0; i < 5; ++i) {
      s.now += 10 * kMs;
      ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
    }
    s.reference_zero += jump;
    s.now += 10 * kMs;
    EXPECT_EQ(model.add_round(s.round()), ClockModel::Round::kBroken) << jump;
    EXPECT_EQ(model.breaks(), 1);
    // It begins anew, and is right again.
    EXPECT_LE(s.outside(model, s.own(s.now)), 0);
    s.now += 10 * kMs;
    EXPECT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  }
}

TEST(ClockModel, NearMissesOfAJumpAreNone) {
  // A step within the bound cannot be told from delay.
  Simulation s;
  ClockModel model;
  ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  s.reference_zero += 10'000;
  s.now += kMs;
  EXPECT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
  // Slow days are no jump either: the answers take a hundred times as long.
  Simulation slow;
  ClockModel patient;
  ASSERT_EQ(patient.add_round(slow.round()), ClockModel::Round::kGood);
  slow.there = slow.back = 2 * kMs;
  EXPECT_EQ(patient.add_round(slow.round()), ClockModel::Round::kGood);
  EXPECT_LE(slow.outside(patient, slow.own(slow.now)), 0);
  // Nor is a drift just inside the limits; one far outside of them is a break.
  for (const double ppm : {190.0, 2000.0}) {
    Simulation fast;
    fast.reference_ppm = ppm;
    ClockModel model_of_fast;
    int broken = 0;
    for (int i = 0; i < 10; ++i) {
      fast.now += 50 * kMs;
      broken += model_of_fast.add_round(fast.round()) == ClockModel::Round::kBroken ? 1 : 0;
    }
    EXPECT_EQ(broken > 0, ppm > 200) << ppm;
  }
}

TEST(ClockModel, WhatWasLearnedLongAgoIsNotHeldAgainstTheClock) {
  for (const bool long_ago : {true, false}) {
    Simulation s;
    ClockModel model;
    for (int i = 0; i < 20; ++i) {
      s.now += 100 * kMs;
      ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
    }
    // Another rate from here on, without a step: hardware warmed up, or NTP steers.
    s.reference_ppm = 120;
    s.reference_zero -= std::llround(s.now * 120e-6);
    s.now += (long_ago ? 60'000 : 3'000) * kMs;
    EXPECT_EQ(model.add_round(s.round()),
              long_ago ? ClockModel::Round::kGood : ClockModel::Round::kBroken);
    EXPECT_LE(s.outside(model, s.own(s.now)), 0);
  }
}

TEST(ClockModel, TheDriftsBoundHoldsWhenDelaysConspire) {
  // First the questions are slow, then the answers: the middles move by 100 us and no clock does.
  for (const bool answers_first : {true, false}) {
    Simulation s;
    ClockModel model;
    for (int i = 0; i < 20; ++i) {
      const bool late_question = (i < 10) != answers_first;
      s.there = late_question ? 101'000 : 1'000;
      s.back = late_question ? 1'000 : 101'000;
      s.now += 200 * kMs;
      ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood);
    }
    const ClockDrift drift = model.drift();
    EXPECT_LE(std::abs(drift.ppm), drift.error_ppm);
    EXPECT_GT(std::abs(drift.ppm), 0.8 * drift.error_ppm) << "the bound is larger than it need be";
    for (const int64_t later : {0, 100, 5000}) {
      EXPECT_LE(s.outside(model, s.own(s.now) + later * kMs), 0) << later;
    }
  }
}

TEST(ClockModel, ADriftThatWandersWithinTheLimitsIsFollowed) {
  Simulation s;
  s.there = s.back = 500;
  ClockModel model;
  for (int i = 0; i < 120; ++i) {
    // 2 ppm in ten seconds, up for half a minute and down again.
    const double before = s.now * s.reference_ppm * 1e-6;
    s.reference_ppm += i < 60 ? 0.1 : -0.1;
    s.reference_zero -= std::llround(s.now * s.reference_ppm * 1e-6 - before);  // no step
    s.now += 500 * kMs;
    ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood) << i;
    ASSERT_LE(s.outside(model, s.own(s.now)), 0) << i;
    ASSERT_LE(s.outside(model, s.own(s.now) + 300 * kMs), 0) << i;
  }
}

TEST(ClockModel, ItsHistoryIsBoundedInNumberAndAge) {
  Simulation s;
  s.own_ppm = -50;
  s.jitter = 5'000;
  ClockModel model;
  // A minute, ten rounds a second; a wander of 1 ppm in all, which a history without end would take
  // for a jump.
  for (int i = 0; i < 600; ++i) {
    s.now += 100 * kMs;
    const double before = s.now * s.reference_ppm * 1e-6;
    s.reference_ppm += 1.0 / 600;
    s.reference_zero -= std::llround(s.now * s.reference_ppm * 1e-6 - before);  // no step
    ASSERT_EQ(model.add_round(s.round()), ClockModel::Round::kGood) << i;
    ASSERT_LE(s.outside(model, s.own(s.now)), 0) << i;
  }
  EXPECT_NEAR(model.drift().ppm, 51, 1);
}

}  // namespace
}  // namespace plumbline
