// The report `soak`: a folder with the verdict as text and JSON, and a picture per number: its
// rounds over time, the levels between the steps, and lines where something happened. What came
// from a record is quoted, so that it can smuggle in no command.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/file.h"
#include "core/host/requirement.h"
#include "core/json.h"
#include "core/text.h"
#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/report.h"
#include "reports/soak/soak_verdict.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

Json soak_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

const char* soak_unit(SoakUnit unit) {
  constexpr const char* kUnits[] = {"ns", "bytes/s", "1/s", "share"};
  return kUnits[static_cast<size_t>(unit)];
}

Json events_json(const SoakEvents& events) {
  Json out = Json::array();
  for (const SoakEvent* event : events) out.push_back(Json::parse(to_line(*event)));
  return out;
}

Json slope_json(const std::optional<Slope>& slope) {
  if (!slope) return nullptr;
  return {{"per_hour", slope->value},
          {"ci99", {slope->low, slope->high}},
          {"includes_zero", slope->includes_zero()}};
}

Json trend_json(const SoakTrend& trend) {
  Json steps = Json::array();
  for (const SoakStep& step : trend.steps) {
    steps.push_back({{"hours", step.hours},
                     {"first_round", step.first_round},
                     {"last_round", step.last_round},
                     {"before", step.before},
                     {"after", step.after},
                     {"p", step.p},
                     {"beside", events_json(step.beside)}});
  }
  Json points = Json::array();
  for (const TrendPoint& point : trend.track->series.points()) {
    points.push_back({{"hours", point.x},
                      {"first_round", point.first_round},
                      {"last_round", point.last_round},
                      {"value", soak_number(point.y)}});
  }
  return {{"what", trend.track->what},       {"unit", soak_unit(trend.track->unit)},
          {"rounds", trend.rounds},          {"first", soak_number(trend.first)},
          {"last", soak_number(trend.last)}, {"drift", slope_json(trend.drift)},
          {"steps", std::move(steps)},       {"points", std::move(points)}};
}

Json cold_json(const SoakColdness& c) {
  return {{"what", c.cold->what},
          {"idle_ns", c.cold->idle_ns},
          {"times", c.times},
          {"errors", c.cold->errors},
          {"cold_meeting_ns", soak_number(c.meeting)},
          {"warm_meeting_ns", soak_number(c.warm_meeting)},
          {"first_ns", soak_number(c.first)},
          {"second_ns", soak_number(c.second)},
          {"warm_ns", soak_number(c.warm)}};
}

Json memory_json(const SoakGrowth& growth) {
  return {{"process", growth.memory->process},
          {"first_bytes", growth.first},
          {"last_bytes", growth.last},
          {"trend", slope_json(growth.per_hour)},
          {"step_round", growth.step ? Json(growth.step->first_round) : Json(nullptr)},
          {"constant", growth.constant}};
}

Json verdict_json(const SoakVerdict& verdict) {
  const SoakRun& run = *verdict.run;
  Json out = {{"run_id", run.run_id},
              {"scenario", run.scenario},
              {"rounds", run.rounds},
              {"hours", run.hours},
              {"records", run.records},
              {"errors", run.errors},
              {"events_left_out", run.events_left_out}};
  for (const char* key : {"cells", "idle", "memory", "events"}) out[key] = Json::array();
  for (const SoakTrend& trend : verdict.trends) out["cells"].push_back(trend_json(trend));
  for (const SoakColdness& cold : verdict.colds) out["idle"].push_back(cold_json(cold));
  for (const SoakGrowth& growth : verdict.memories) out["memory"].push_back(memory_json(growth));
  for (const SoakEvent& event : run.events) out["events"].push_back(Json::parse(to_line(event)));
  return out;
}

constexpr size_t kMostLines = 40;  // at events
constexpr size_t kSoakLabel = 60;
constexpr size_t kSoakTitle = 100;

struct PlotUnit {
  double size;
  const char* label;
};

PlotUnit unit_of(const SoakTrend& trend) {
  switch (trend.track->unit) {
    case SoakUnit::kTime:
      return trend.first >= 1e6 ? PlotUnit{1e6, "median time (ms)"}
                                : PlotUnit{1e3, "median time (us)"};
    case SoakUnit::kRate:
      return {1e6, "rate (MB/s, 10^6 bytes per second)"};
    case SoakUnit::kPerSecond:
      return {1, "operations/s"};
    case SoakUnit::kShare:
      break;
  }
  return {0.01, "share of datagrams lost (%)"};
}

// Hours, or minutes and seconds where it did not last.
PlotUnit time_of(const SoakRun& run) {
  if (run.hours >= 2) return {1, "time (h)"};
  return run.hours >= 1.0 / 30 ? PlotUnit{1.0 / 60, "time (min)"}
                               : PlotUnit{1.0 / 3600, "time (s)"};
}

namespace fs = std::filesystem;

constexpr size_t kMostPictures = 24;  // those that moved come first

// Draws what moved, then the rest, up to a bound.
Status draw_rounds(const std::vector<SoakVerdict>& verdicts, const fs::path& folder,
                   Document& document, std::vector<std::string>& written) {
  size_t drawn = 0;
  for (const bool moved : {true, false}) {
    for (const SoakVerdict& verdict : verdicts) {
      for (const SoakTrend& trend : verdict.trends) {
        if ((!trend.steps.empty() || trend.drifts()) != moved || trend.rounds == 0) continue;
        if (drawn == kMostPictures) return {};
        const std::string name = "soak_" + std::to_string(++drawn);
        const Status done = draw_files(folder.string(), name, soak_plot_data(trend),
                                       soak_plot_script(trend, *verdict.run, name), written);
        if (!done) return done;
        document.picture(trend.track->what, name + ".svg");
      }
    }
  }
  return {};
}

Expected<std::vector<std::string>> write_soak(const ReportInput& input,
                                              const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the soak report needs a folder to write into");
  }
  std::vector<std::string> written;
  if (input.soaks.empty()) return written;
  const fs::path folder = target.directory;
  if (const Status made = make_report_folder(target.directory); !made) return fail(made.error());
  std::vector<SoakVerdict> verdicts;
  Document document;
  for (const SoakRun& run : input.soaks) {
    verdicts.push_back(judge_soak(run));
    add_soak(verdicts.back(), document);
  }
  document.heading(1, "Pictures");
  if (const auto missing = no_gnuplot()) {
    document.paragraph("No pictures: " + *missing, Tone::kWarn);
  } else if (const Status done = draw_rounds(verdicts, folder, document, written); !done) {
    return fail(done.error());
  }
  std::ostringstream text;
  render_markdown(document, text);
  for (const auto& [name, content] :
       {std::pair("soak.md", text.str()), std::pair("soak.json", soak_json(verdicts))}) {
    const std::string path = (folder / name).string();
    if (const Status done = write_text_file(path, content); !done) return fail(done.error());
    written.push_back(path);
  }
  return written;
}

}  // namespace

std::string soak_json(const std::vector<SoakVerdict>& verdicts) {
  Json soaks = Json::array();
  for (const SoakVerdict& verdict : verdicts) soaks.push_back(verdict_json(verdict));
  const Json out = {{"schema", 1}, {"soaks", std::move(soaks)}};
  return printable_json(json_text(out));
}

std::string soak_plot_data(const SoakTrend& trend) {
  std::string out = fmt::format("# {}\n# index 0: hours value first_round last_round\n",
                                clean(trend.track->what));
  const std::vector<TrendPoint> points = trend.track->series.points();
  for (const TrendPoint& point : points) {
    out += fmt::format("{:.10g} {:.10g} {} {}\n", point.x, point.y, point.first_round,
                       point.last_round);
  }
  out += "\n\n# index 1: hours level (medians between the steps)\n";
  if (points.empty()) return out;
  double from = points.front().x;
  for (const SoakStep& step : trend.steps) {
    out += fmt::format("{:.10g} {:.10g}\n{:.10g} {:.10g}\n\n", from, step.before, step.hours,
                       step.before);
    from = step.hours;
  }
  if (!trend.steps.empty()) {
    const double level = trend.steps.back().after;
    out += fmt::format("{:.10g} {:.10g}\n{:.10g} {:.10g}\n", from, level, points.back().x, level);
  }
  return out;
}

std::string soak_plot_script(const SoakTrend& trend, const SoakRun& run, const std::string& name) {
  const PlotUnit unit = unit_of(trend), time = time_of(run);
  std::string out =
      script_head(name) + script_title(trend.track->what, drift_text(trend), kSoakTitle);
  out += "set grid back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n";
  out += "set key outside bottom center horizontal Left reverse noenhanced\n";
  out += fmt::format("set xlabel '{}'.\"\\n \"\nset ylabel '{}'\n", time.label, unit.label);
  out += "set yrange [0:*]\n";
  std::set<const SoakEvent*> beside;
  for (const SoakStep& step : trend.steps) beside.insert(step.beside.begin(), step.beside.end());
  size_t lines = 0;
  for (const SoakEvent& event : run.events) {
    if (++lines > kMostLines && beside.count(&event) == 0) continue;
    out += fmt::format(
        "set arrow from {0:.10g}, graph 0 to {0:.10g}, graph 1 nohead dt 3 lc rgb "
        "'#999999'\n",
        static_cast<double>(event.at_ns) / 3600e9 / time.size);
  }
  // One label a step, or they would lie on top of each other.
  for (const SoakStep& step : trend.steps) {
    if (step.beside.empty()) continue;
    const SoakEvent& event = *step.beside.front();
    std::string text = event.host + " " + event.text;
    if (step.beside.size() > 1) text += fmt::format(" (+{})", step.beside.size() - 1);
    out += fmt::format(
        "set label {} at {:.10g}, graph 0.02 rotate by 90 offset 0.8,0 font ',9' "
        "noenhanced\n",
        gnuplot_literal(text, kSoakLabel), static_cast<double>(event.at_ns) / 3600e9 / time.size);
  }
  std::string plot = fmt::format(
      "plot \\\n  data index 0 using ($1/{0:.10g}):($2/{1:.10g}) with points pt 7 ps 0.8 lc rgb "
      "'#0072B2' title 'rounds'",
      time.size, unit.size);
  if (!trend.steps.empty()) {
    plot += fmt::format(
        ", \\\n  data index 1 using ($1/{0:.10g}):($2/{1:.10g}) with lines lw 2 lc "
        "rgb '#D55E00' title 'level'",
        time.size, unit.size);
  }
  return out + script_tail(name, plot + "\n", 860, 520);
}

ReportRow soak_report() {
  return {
      {"soak",
       "rounds of run --for: steps, drift, idle time, memory, events (soak.md, JSON, SVG, PNG)"},
      "soak/",
      write_soak};
}

}  // namespace plumbline
