#include "reports/soak/soak_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/stats/stats.h"
#include "core/units.h"
#include "reports/text.h"
#include "reports/thresholds.h"

namespace plumbline {
namespace {

constexpr size_t kMostBeside = 5;  // events told with a step; the list has them all
constexpr double kHourNs = 3600e9;

// The most telling first.
constexpr std::array<std::string_view, 9> kKinds = {
    "link", "route", "address", "host", "cell", "cpu", "temperature", "counter", "round"};

size_t kind_order(const SoakEvent& event) {
  return static_cast<size_t>(std::find(kKinds.begin(), kKinds.end(), event.kind) - kKinds.begin());
}

void sort_by_kind(SoakEvents& events) {
  std::stable_sort(events.begin(), events.end(), [](const SoakEvent* a, const SoakEvent* b) {
    return kind_order(*a) < kind_order(*b);
  });
}

SoakEvents events_between(const SoakRun& run, int64_t first, int64_t last) {
  SoakEvents out;
  for (const SoakEvent& event : run.events) {
    if (event.round >= first && event.round <= last) out.push_back(&event);
  }
  sort_by_kind(out);
  return out;
}

struct Columns {
  explicit Columns(const BoundedSeries& series) : points(series.points()) {
    for (const TrendPoint& point : points) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
  }
  std::vector<TrendPoint> points;
  std::vector<double> x, y;
};

// Median of the first and of the last tenth, three values at least.
std::pair<double, double> ends_of(const std::vector<double>& y) {
  const size_t count = std::min(y.size(), std::max<size_t>(3, y.size() / 10));
  const auto n = static_cast<std::ptrdiff_t>(count);
  return {median({y.begin(), y.begin() + n}), median({y.end() - n, y.end()})};
}

std::optional<double> middle(const BoundedSeries& series) {
  std::vector<double> y = Columns(series).y;
  if (y.empty()) return std::nullopt;
  return median(std::move(y));
}

SoakTrend judge_track(const SoakRun& run, const SoakTrack& track) {
  SoakTrend out;
  out.track = &track;
  const Columns columns(track.series);
  if (columns.y.empty()) return out;
  out.rounds = track.series.added();
  std::tie(out.first, out.last) = ends_of(columns.y);
  std::vector<size_t> places;
  for (const LevelStep& step : find_steps(columns.y, soak_step_rule())) {
    const TrendPoint& point = columns.points[step.at];
    SoakStep found{point.x, point.first_round, point.last_round, step.before, step.after, step.p,
                   {}};
    const auto near = static_cast<int64_t>(threshold(SoakThreshold::kEventRounds));
    found.beside = events_between(run, point.first_round - near, point.last_round + near);
    out.steps.push_back(std::move(found));
    places.push_back(step.at);
  }
  out.drift = theil_sen(columns.x, columns.y, places);
  if (out.drifts()) out.beside_drift = events_between(run, 0, run.rounds);
  return out;
}

SoakColdness judge_cold(const SoakCold& cold) {
  SoakColdness out;
  out.cold = &cold;
  out.times = cold.first.added();
  out.meeting = middle(cold.meeting);
  out.warm_meeting = middle(cold.warm_meeting);
  out.first = middle(cold.first);
  out.second = middle(cold.second);
  out.warm = middle(cold.warm);
  return out;
}

// The first round fills caches and grows buffers once.
SoakGrowth judge_memory(const SoakMemory& memory) {
  SoakGrowth out;
  out.memory = &memory;
  Columns columns(memory.series);
  const int64_t first_round = columns.points.empty() ? 0 : columns.points.front().first_round;
  std::vector<double> x, y;
  for (const TrendPoint& point : columns.points) {
    if (point.first_round == first_round && columns.points.back().last_round > first_round)
      continue;
    x.push_back(point.x);
    y.push_back(point.y);
  }
  if (y.empty()) return out;
  std::tie(out.first, out.last) = ends_of(y);
  std::vector<size_t> places;
  const std::vector<LevelStep> steps = find_steps(y, soak_step_rule());
  for (const LevelStep& step : steps) places.push_back(step.at);
  out.per_hour = theil_sen(x, y, places);
  const double most = std::max(threshold(SoakThreshold::kGrowthBytes),
                               threshold(SoakThreshold::kGrowthShare) * out.first);
  out.constant = out.last - out.first <= most;
  if (out.constant || steps.size() != 1) return out;
  const LevelStep& step = steps.front();
  if (std::abs(step.before - out.first) > most || out.last - step.after > most) return out;
  const TrendPoint& point = columns.points[columns.points.size() - y.size() + step.at];
  out.step =
      SoakStep{point.x, point.first_round, point.last_round, step.before, step.after, step.p, {}};
  out.constant = true;
  return out;
}

std::string beside_text(const SoakEvents& events) {
  if (events.empty()) return "nothing seen beside it";
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(events.size(), kMostBeside); ++i) {
    const SoakEvent& event = *events[i];
    parts.push_back(event.host.empty() ? event.text : event.host + " " + event.text);
  }
  std::string text = "beside: " + join(parts, "; ");
  if (events.size() > kMostBeside) {
    text += fmt::format("; and {} more", events.size() - kMostBeside);
  }
  return text;
}

}  // namespace

SoakVerdict judge_soak(const SoakRun& run) {
  SoakVerdict out;
  out.run = &run;
  for (const SoakTrack& track : run.tracks) out.trends.push_back(judge_track(run, track));
  for (const SoakCold& cold : run.colds) out.colds.push_back(judge_cold(cold));
  for (const SoakMemory& memory : run.memories) out.memories.push_back(judge_memory(memory));
  return out;
}

std::string soak_value(SoakUnit unit, double value) {
  switch (unit) {
    case SoakUnit::kTime:
      return format_duration(value);
    case SoakUnit::kRate:
      return format_rate(value);
    case SoakUnit::kPerSecond:
      return fmt::format("{:.4g} ops/s", value);
    case SoakUnit::kShare:
      break;
  }
  return fmt::format("{:.3g} %", 100 * value);
}

std::string soak_time(double hours) {
  const auto seconds = static_cast<int64_t>(std::floor(hours * 3600 + 1e-6));
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string step_text(const SoakStep& step, SoakUnit unit) {
  const std::string size =
      step.before != 0 ? fmt::format("{:+.0f} %", 100 * (step.after / step.before - 1)) : "";
  const std::string round = step.first_round == step.last_round
                                ? fmt::format("round {}", step.first_round)
                                : fmt::format("rounds {} to {}", step.first_round, step.last_round);
  return fmt::format("step {}{}at {} ({}), {} -> {}; {}", size, size.empty() ? "" : " ",
                     soak_time(step.hours), round, soak_value(unit, step.before),
                     soak_value(unit, step.after), beside_text(step.beside));
}

std::string drift_text(const SoakTrend& trend) {
  if (!trend.drift) return "too few rounds";
  if (!trend.drifts()) return "no drift";
  const Slope& drift = *trend.drift;
  if (trend.first == 0) return fmt::format("drift {:+.3g} per hour", drift.value);
  const double scale = 100 / trend.first;
  return fmt::format("drift {:+.3g} %/h [{:+.3g}, {:+.3g}]", drift.value * scale, drift.low * scale,
                     drift.high * scale);
}

std::string event_text(const SoakEvent& event) {
  return fmt::format("{} round {} {}: {}", soak_time(static_cast<double>(event.at_ns) / kHourNs),
                     event.round, event.host.empty() ? "coordinator" : event.host, event.text);
}

}  // namespace plumbline
