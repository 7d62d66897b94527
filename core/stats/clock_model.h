// What one clock shows when another one shows something, with a bound that holds. A ClockModel
// learns the offset of a reference clock against the own one from exchanges of timestamps (a
// question there, an answer back), and translates later times with an error bound that grows as the
// last exchange recedes. Pure: it reads no clock and moves no bytes, so that tests can inject
// offset, drift and delay. Not thread-safe.
//
// How the bound comes about. An exchange leaves at t1 (own clock), is read at t2 and answered at t3
// (reference clock), and returns at t4 (own clock). Cause comes before effect, whatever the two
// ways took, so the offset (reference minus own) is at most t2 - t1 and at least t3 - t4: the true
// value lies within RTT / 2 of the middle, RTT = (t4 - t1) - (t3 - t2). Unequal ways are thereby
// covered. Every exchange gives such an interval; all are true at once, so their intersection is.
// Intervals of other moments are widened by what the clocks may have drifted since.
//
// Sources: Cristian, Probabilistic clock synchronization, 1989 (half the round trip bounds the
// error, the fastest round trip is the best); Marzullo and Owicki, Maintaining the time in a
// distributed system, 1983 (intersecting intervals, widened by the drift); RFC 5905 section 8 (the
// offset and delay of four timestamps); Hunold and Carpen-Amarie, Reproducible MPI benchmarking is
// still not as easy as you think, 2016 (drift by linear regression over rounds of exchanges). The
// bound of the regression is ours and stands at drift().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plumbline {

// All times in ns of the clock named; any zero point.
struct ClockExchange {
  int64_t sent = 0;      // t1, own clock, before the question left
  int64_t received = 0;  // t2, reference clock, after the question came
  int64_t replied = 0;   // t3, reference clock, before the answer left
  int64_t returned = 0;  // t4, own clock, after the answer came
  // How far t2 and t3 may be from the reference's true time: its resolution, and the bound of the
  // translation where the one that answers is itself synchronised.
  double reference_error = 0;
};

// What is taken for granted about two clocks; the bounds hold as long as these do.
struct ClockLimits {
  // Two quartzes of +-50 ppm, and as much again for what NTP may be steering meanwhile.
  double max_drift_ppm = 200;
  // How much the drift itself varies within max_age_ns: temperature.
  double wander_ppm = 2;
  // A reading of the own clock may be old by so much; the reference's is part of reference_error.
  double resolution_ns = 1;
  int64_t max_age_ns = 10'000'000'000;
  size_t max_rounds = 32;
};

struct ClockOffset {
  int64_t offset_ns = 0;  // reference minus own
  double error_ns = 0;    // the true offset is within this of it
};

struct ClockDrift {
  double ppm = 0;        // how much faster the reference runs than the own clock
  double error_ppm = 0;  // the true drift is within this of it
};

class ClockModel {
 public:
  enum class Round {
    kGood,
    // It contradicts the rounds before, whatever the delays were: a clock jumped, or changed its
    // rate by more than the limits allow. The history is gone and begins with this round.
    kBroken,
    // No exchange was usable, or they contradict one another. Nothing was learned.
    kUnusable,
  };

  explicit ClockModel(const ClockLimits& limits = {}) : limits_(limits) {}

  // Exchanges made one after the other, in that order; lost ones are left out.
  Round add_round(std::span<const ClockExchange> exchanges);

  bool ready() const { return !rounds_.empty(); }
  // At a time of the own clock, also a past one. error_ns <= RTT / 2 of the best exchange of the
  // last round + resolution + reference_error + what max_drift_ppm (or the narrower drift()) makes
  // of the time since. Needs ready().
  ClockOffset at(int64_t own_ns) const;
  // Least squares over the rounds' middles. The slope is a weighted sum of the middles, so with
  // middles that are wrong by at most e_i it is wrong by at most sum |w_i| e_i; never more than
  // max_drift_ppm is stated. 0 +- max_drift_ppm after one round.
  ClockDrift drift() const;
  int breaks() const { return breaks_; }  // rounds that were kBroken
  // The fastest usable exchange of the last good round.
  int64_t best_rtt_ns() const { return best_rtt_ns_; }

 private:
  // A bound that was exact at one moment: `offset` relative to base_offset_, `at` to base_own_.
  struct Point {
    double at = 0, offset = 0;
  };
  struct Interval {
    double low = 0, high = 0;
  };
  struct Span {
    Point low, high;   // tightest of the round
    Point middle;      // of both, where its best exchange was
    double error = 0;  // of `middle`
    int64_t best_rtt = 0;
  };

  bool plausible(const ClockExchange& exchange) const;
  bool summarise(std::span<const ClockExchange> exchanges, Span& span) const;
  Interval bounds(double at, Interval slope) const;
  bool contradicts(const Span& span, Interval slope) const;
  Interval slope() const;
  void forget(double now);

  ClockLimits limits_;
  int64_t base_own_ = 0, base_offset_ = 0;  // keep doubles small enough to be exact
  std::vector<Span> rounds_;                // oldest first
  int breaks_ = 0;
  int64_t best_rtt_ns_ = 0;
};

}  // namespace plumbline
