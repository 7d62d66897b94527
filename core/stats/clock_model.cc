#include "core/stats/clock_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace plumbline {
namespace {

constexpr double kPpm = 1e-6;
constexpr int64_t kFarthest = int64_t{1} << 60;  // differences of differences of such times fit

bool in_range(int64_t ns) { return ns >= -kFarthest && ns <= kFarthest; }

}  // namespace

bool ClockModel::plausible(const ClockExchange& e) const {
  for (const int64_t ns : {e.sent, e.received, e.replied, e.returned}) {
    if (!in_range(ns)) return false;
  }
  // A clock on which no time passed between leaving and coming back is too coarse to tell anything.
  if (e.returned <= e.sent || e.replied < e.received) return false;
  if (!std::isfinite(e.reference_error) || e.reference_error < 0) return false;
  // The answer cannot have taken longer than the whole, but for drift, resolution and the errors of
  // a reference that is a translation.
  const auto whole = static_cast<double>(e.returned - e.sent);
  const auto inner = static_cast<double>(e.replied - e.received);
  return inner <= whole * (1 + limits_.max_drift_ppm * kPpm) +
                      2 * (limits_.resolution_ns + e.reference_error);
}

// The tightest bounds of one round; false when nothing is left of it. Within a round, which takes
// milliseconds, the clocks are held together by max_drift_ppm alone.
bool ClockModel::summarise(std::span<const ClockExchange> exchanges, Span& span) const {
  const ClockExchange* before = nullptr;
  const double drift = limits_.max_drift_ppm * kPpm;
  span.best_rtt = std::numeric_limits<int64_t>::max();
  for (const ClockExchange& e : exchanges) {
    if (!plausible(e)) continue;
    // They came one after the other: a clock that says otherwise went backwards.
    if (before != nullptr &&
        (e.sent < before->returned ||
         static_cast<double>(before->replied - e.received) > 2 * e.reference_error)) {
      return false;
    }
    const double slack = limits_.resolution_ns + e.reference_error;
    const Point high{static_cast<double>(e.sent - base_own_),
                     static_cast<double>(e.received - e.sent - base_offset_) + slack};
    const Point low{static_cast<double>(e.returned - base_own_),
                    static_cast<double>(e.replied - e.returned - base_offset_) - slack};
    if (before == nullptr || high.offset < span.high.offset) span.high = high;
    if (before == nullptr || low.offset > span.low.offset) span.low = low;
    const int64_t rtt = (e.returned - e.sent) - (e.replied - e.received);
    if (rtt < span.best_rtt) {
      span.best_rtt = rtt;
      span.middle.at = (low.at + high.at) / 2;
    }
    before = &e;
  }
  if (before == nullptr) return false;
  const double low = span.low.offset - drift * std::abs(span.middle.at - span.low.at);
  const double high = span.high.offset + drift * std::abs(span.middle.at - span.high.at);
  span.middle.offset = (low + high) / 2;
  span.error = (high - low) / 2;
  return high >= low;
}

// Where the offset can be at `at`, by all rounds: a bound moves with the drift that serves it
// worst.
ClockModel::Interval ClockModel::bounds(double at, Interval slope) const {
  Interval within{-std::numeric_limits<double>::infinity(),
                  std::numeric_limits<double>::infinity()};
  for (const Span& round : rounds_) {
    const double from_low = at - round.low.at, from_high = at - round.high.at;
    within.low = std::max(within.low,
                          round.low.offset + from_low * (from_low >= 0 ? slope.low : slope.high));
    within.high = std::min(
        within.high, round.high.offset + from_high * (from_high >= 0 ? slope.high : slope.low));
  }
  return within;
}

bool ClockModel::contradicts(const Span& span, Interval slope) const {
  return span.low.offset > bounds(span.low.at, slope).high ||
         span.high.offset < bounds(span.high.at, slope).low;
}

ClockModel::Round ClockModel::add_round(std::span<const ClockExchange> exchanges) {
  if (rounds_.empty()) {
    const auto first = std::find_if(exchanges.begin(), exchanges.end(),
                                    [this](const ClockExchange& e) { return plausible(e); });
    if (first == exchanges.end()) return Round::kUnusable;
    base_own_ = first->sent;
    base_offset_ = first->received - first->sent;
  }
  Span span;
  if (!summarise(exchanges, span)) return Round::kUnusable;
  forget(span.middle.at);
  Round result = Round::kGood;
  if (!rounds_.empty() && contradicts(span, slope())) {
    rounds_.clear();
    ++breaks_;
    result = Round::kBroken;
  }
  rounds_.push_back(span);
  best_rtt_ns_ = std::max<int64_t>(span.best_rtt, 0);
  return result;
}

// Old rounds go: what they say of the drift may no longer be so. When there are too many, every
// other one of the older half goes, so that the regression keeps its long baseline.
void ClockModel::forget(double now) {
  const double oldest = now - static_cast<double>(limits_.max_age_ns);
  std::erase_if(rounds_, [oldest](const Span& span) { return span.middle.at < oldest; });
  if (rounds_.size() < limits_.max_rounds) return;
  std::vector<Span> kept;
  for (size_t i = 0; i < rounds_.size(); ++i) {
    if (i > rounds_.size() / 2 || i % 2 == 0) kept.push_back(rounds_[i]);
  }
  rounds_ = std::move(kept);
}

ClockDrift ClockModel::drift() const {
  const ClockDrift unknown{0, limits_.max_drift_ppm};
  double mean_at = 0, mean_offset = 0;
  for (const Span& round : rounds_) {
    mean_at += round.middle.at / static_cast<double>(rounds_.size());
    mean_offset += round.middle.offset / static_cast<double>(rounds_.size());
  }
  double spread = 0, slope = 0, error = 0;
  for (const Span& round : rounds_) {
    const double distance = round.middle.at - mean_at;
    spread += distance * distance;
    slope += distance * (round.middle.offset - mean_offset);
    error += std::abs(distance) * round.error;
  }
  if (spread <= 0) return unknown;
  const double ppm = slope / spread / kPpm;
  const double error_ppm = error / spread / kPpm + limits_.wander_ppm;
  // Together with what is taken for granted.
  const double low = std::max(ppm - error_ppm, -limits_.max_drift_ppm);
  const double high = std::min(ppm + error_ppm, limits_.max_drift_ppm);
  return low <= high ? ClockDrift{(low + high) / 2, (high - low) / 2} : unknown;
}

ClockModel::Interval ClockModel::slope() const {
  const ClockDrift known = drift();
  return {(known.ppm - known.error_ppm) * kPpm, (known.ppm + known.error_ppm) * kPpm};
}

ClockOffset ClockModel::at(int64_t own_ns) const {
  const Interval within = bounds(static_cast<double>(own_ns - base_own_), slope());
  const double middle = std::round((within.low + within.high) / 2);
  // Half a nanosecond for the rounding. Bounds that cross by less than that are one point.
  const double error = std::max(0.0, (within.high - within.low) / 2) + 0.5;
  return {base_offset_ + static_cast<int64_t>(middle), error};
}

}  // namespace plumbline
