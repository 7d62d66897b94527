#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "reports/soak/soak_verdict.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int64_t kRoundsForSteps = 11;  // core/stats/trend.h
constexpr size_t kMostListed = 60;       // events in a text; events.jsonl has them all

std::string idle_time(const std::optional<double>& ns) { return ns ? format_duration(*ns) : ""; }

std::string hours_text(double hours) {
  const double minutes = hours * 60;
  if (minutes < 1.0 / 6) return fmt::format("{:.3g} s", hours * 3600);
  if (minutes < 2) return fmt::format("{:.0f} s", hours * 3600);
  return minutes < 120 ? fmt::format("{:.0f} min", minutes) : fmt::format("{:.3g} h", hours);
}

std::string change_text(const SoakTrend& trend) {
  return trend.first != 0 ? fmt::format("{:+.1f}", 100 * (trend.last / trend.first - 1)) : "";
}

std::string verdict_text(const SoakTrend& trend) {
  std::string text =
      trend.steps.empty() ? std::string() : plural(trend.steps.size(), "step") + ", ";
  return text + drift_text(trend);
}

Table rounds_table(const SoakVerdict& verdict) {
  Table table;
  table.columns = {{"", "what", "", true, 0},     {"", "rounds", "", false, 2, false},
                   {"", "first", "", false, 0},   {"", "last", "", false, 0, false},
                   {"", "change", "%", false, 1}, {"", "verdict", "", true, 0, false}};
  for (const SoakTrend& trend : verdict.trends) {
    const SoakUnit unit = trend.track->unit;
    const bool bad = !trend.steps.empty() || trend.drifts();
    table.rows.push_back(
        {{trend.track->what, std::to_string(trend.rounds), soak_value(unit, trend.first),
          soak_value(unit, trend.last), change_text(trend), verdict_text(trend)},
         bad ? Tone::kWarn : Tone::kPlain});
  }
  return table;
}

Table idle_table(const SoakVerdict& verdict) {
  Table table;
  table.columns = {{"", "what", "", true, 0},
                   {"", "idle", "", false, 0},
                   {"", "times", "", false, 2},
                   {"meeting", "cold", "", false, 1},
                   {"meeting", "warm", "", false, 1},
                   {"operation", "first", "", false, 0},
                   {"operation", "second", "", false, 1},
                   {"operation", "warm", "", false, 0},
                   {"", "first/warm", "", false, 0},
                   {"", "errors", "", false, 3, true}};
  for (const SoakColdness& c : verdict.colds) {
    const bool both = c.first && c.warm && *c.warm > 0;
    table.rows.push_back({{c.cold->what, hours_text(static_cast<double>(c.cold->idle_ns) / 3600e9),
                           std::to_string(c.times), idle_time(c.meeting), idle_time(c.warm_meeting),
                           idle_time(c.first), idle_time(c.second), idle_time(c.warm),
                           both ? fmt::format("{:.3g}", *c.first / *c.warm) : "",
                           c.cold->errors > 0 ? std::to_string(c.cold->errors) : ""},
                          c.cold->errors > 0 ? Tone::kBad : Tone::kPlain});
  }
  return table;
}

std::string growth_text(const SoakGrowth& growth) {
  const auto bytes = [](double value) {
    return format_bytes(static_cast<uint64_t>(std::max(0.0, value)));
  };
  std::string text = fmt::format("{}: {} at first, {} at the end", growth.memory->process,
                                 bytes(growth.first), bytes(growth.last));
  if (growth.per_hour) {
    text += growth.per_hour->includes_zero()
                ? ", no trend"
                : fmt::format(", {:+.3g} KiB/h", growth.per_hour->value / 1024);
  }
  if (growth.step) {
    return text + fmt::format(": constant but for one step at {} (round {})",
                              soak_time(growth.step->hours), growth.step->first_round);
  }
  return text + (growth.constant ? ": constant" : ": GROWS");
}

std::vector<std::string> step_lines(const SoakVerdict& verdict) {
  std::vector<std::string> lines;
  for (const SoakTrend& trend : verdict.trends) {
    const SoakUnit unit = trend.track->unit;
    for (const SoakStep& step : trend.steps) {
      lines.push_back(trend.track->what + ": " + step_text(step, unit));
    }
    if (!trend.drifts()) continue;
    std::string line = trend.track->what + ": " + drift_text(trend);
    std::vector<std::string> seen;
    for (const SoakEvent* event : trend.beside_drift) {
      if (seen.size() < 3) seen.push_back(event_text(*event));
    }
    line += seen.empty() ? "; no events in all that time"
                         : "; " + plural(trend.beside_drift.size(), "event") +
                               " in that time: " + join(seen, "; ");
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> event_lines(const SoakRun& run) {
  std::vector<std::string> lines;
  for (const SoakEvent& event : run.events) {
    if (lines.size() < kMostListed) lines.push_back(event_text(event));
  }
  const size_t more = run.events.size() - lines.size() + run.events_left_out;
  if (more > 0) lines.push_back(fmt::format("... and {} more in events.jsonl", more));
  return lines;
}

}  // namespace

void add_soak(const SoakVerdict& verdict, Document& document) {
  const SoakRun& run = *verdict.run;
  document.heading(1, "Soak");
  document.paragraph(fmt::format("Run {}: {} rounds in {}, {} records, {} errors, {} events.",
                                 run.run_id, run.rounds, hours_text(run.hours), run.records,
                                 run.errors, run.events.size() + run.events_left_out));
  const Table rounds = rounds_table(verdict);
  if (!rounds.rows.empty()) {
    document.paragraph(
        "first, last: medians of the first and the last tenth of the rounds, three at least; step: "
        "p <= 0.5 %, 5 % and more; drift: between the steps, with its 99 % confidence interval");
    document.table(rounds);
  }
  const std::vector<std::string> steps = step_lines(verdict);
  if (run.rounds < kRoundsForSteps) {
    document.paragraph(fmt::format("Steps need {} rounds at least, a drift 7.", kRoundsForSteps));
  } else if (steps.empty() && !verdict.trends.empty()) {
    document.paragraph("No steps, no drift.", Tone::kGood);
  }
  document.list(steps);
  if (!verdict.colds.empty()) {
    document.heading(2, "After idle time");
    document.paragraph(
        "meeting: a barrier, as the rank that came last saw it; first, second: the operations "
        "right "
        "behind it; warm: median of the samples that followed");
    document.table(idle_table(verdict));
  }
  if (!verdict.memories.empty()) {
    document.heading(2, "Memory of the processes");
    std::vector<std::string> lines;
    for (const SoakGrowth& growth : verdict.memories) lines.push_back(growth_text(growth));
    document.list(lines);
  }
  const std::vector<std::string> events = event_lines(run);
  if (!events.empty()) {
    document.heading(2, "Events");
    document.list(events);
  }
}

void add_soaks(const std::vector<SoakRun>& soaks, Document& document) {
  for (const SoakRun& run : soaks) add_soak(judge_soak(run), document);
}

}  // namespace plumbline
