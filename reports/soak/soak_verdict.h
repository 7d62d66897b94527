// What became of a soak's numbers: where they stepped, how they drifted, what happened on the hosts
// beside it, how cold the first operations behind idle time were, and whether memory stayed
// constant. The rules are those of core/stats/trend.h. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/document.h"
#include "reports/soak/soak_data.h"

namespace plumbline {

// Events that happened within one round of something, the most telling kinds first.
using SoakEvents = std::vector<const SoakEvent*>;

struct SoakStep {
  double hours = 0;                         // of the first round behind it
  int64_t first_round = 0, last_round = 0;  // it lies at one of these (a long soak merges rounds)
  double before = 0, after = 0;             // in the track's unit
  double p = 1;
  SoakEvents beside;
};

struct SoakTrend {
  const SoakTrack* track = nullptr;
  size_t rounds = 0;           // that have a value
  double first = 0, last = 0;  // medians of the first and the last tenth, three rounds at least
  std::optional<Slope> drift;  // per hour, in the track's unit; absent = too few rounds
  std::vector<SoakStep> steps;
  SoakEvents beside_drift;  // when there is one: all events of the soak, the most telling first
  bool drifts() const { return drift && !drift->includes_zero(); }
};

struct SoakColdness {
  const SoakCold* cold = nullptr;
  size_t times = 0;
  // Medians, ns; absent where nothing was measured.
  std::optional<double> meeting, warm_meeting, first, second, warm;
};

struct SoakGrowth {
  const SoakMemory* memory = nullptr;
  double first = 0, last = 0;     // bytes; medians as above, without the very first round
  std::optional<Slope> per_hour;  // between the steps
  // The one step that explains the difference, where memory is constant before and behind it: an
  // allocator keeps what was used once. Several steps are growth.
  std::optional<SoakStep> step;
  bool constant = false;
};

struct SoakVerdict {
  const SoakRun* run = nullptr;
  std::vector<SoakTrend> trends;
  std::vector<SoakColdness> colds;
  std::vector<SoakGrowth> memories;
};

// The verdict points into the run.
SoakVerdict judge_soak(const SoakRun& run);

// "940 MB/s", "51.2 us", "1200 ops/s", "3 %".
std::string soak_value(SoakUnit unit, double value);
// "1:35:00" since the start.
std::string soak_time(double hours);
// "step -38 % at 1:35:00 (round 20), 940 MB/s -> 583 MB/s; beside: node2 en1 speed ..."
std::string step_text(const SoakStep& step, SoakUnit unit);
// "drift +1.2 %/h [+0.8, +1.6]", "no drift", or why it cannot be told.
std::string drift_text(const SoakTrend& trend);
// "1:35:00 round 20 node2: en1 speed 10000 -> 1000 Mb/s"
std::string event_text(const SoakEvent& event);

// A soak as every report tells it: the rounds in one table, steps with the events beside them, what
// idle time costs, memory, and the list of events; and the same as JSON.

// Nothing when there is no soak among the records.
void add_soaks(const std::vector<SoakRun>& soaks, Document& document);
void add_soak(const SoakVerdict& verdict, Document& document);
// One object; docs/soak.md names its fields. SI units, null where nothing is known.
std::string soak_json(const std::vector<SoakVerdict>& verdicts);

// A track over time, with lines at the steps and at events: data and script for draw_files().
std::string soak_plot_data(const SoakTrend& trend);
std::string soak_plot_script(const SoakTrend& trend, const SoakRun& run, const std::string& name);

}  // namespace plumbline
