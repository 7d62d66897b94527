// A soak's verdict for programs.
#include <cmath>

#include "core/json.h"
#include "core/printable.h"
#include "reports/soak/soak_tables.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

Json soak_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

const char* soak_unit(SoakUnit unit) {
  switch (unit) {
    case SoakUnit::kTime:
      return "ns";
    case SoakUnit::kRate:
      return "bytes/s";
    case SoakUnit::kPerSecond:
      return "1/s";
    case SoakUnit::kShare:
      break;
  }
  return "share";
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

}  // namespace

std::string soak_json(const std::vector<SoakVerdict>& verdicts) {
  Json soaks = Json::array();
  for (const SoakVerdict& verdict : verdicts) soaks.push_back(verdict_json(verdict));
  const Json out = {{"schema", 1}, {"soaks", std::move(soaks)}};
  return printable_json(json_text(out));
}

}  // namespace plumbline
