#include <cmath>

#include "core/json.h"
#include "core/printable.h"
#include "reports/compare/compare_output.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

Json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

const char* compare_unit(CompareUnit unit) {
  switch (unit) {
    case CompareUnit::kTime:
      return "ns";
    case CompareUnit::kOperations:
      return "ns per operation";
    case CompareUnit::kBytes:
      break;
  }
  return "ns per byte";
}

Json sample_json(const CompareSample& sample, const std::string& id) {
  return {{"cell_id", id},
          {"launches", sample.launches},
          {"median", number_or_null(sample.middle())},
          {"records", sample.records},
          {"noisy", sample.noisy},
          {"unusable", sample.unusable},
          {"wrong", sample.wrong},
          {"reason", sample.reason}};
}

Json row_json(const CompareRow& row) {
  const auto of_shift = [&](double Shift::*field) {
    return row.shift ? number_or_null((*row.shift).*field) : Json(nullptr);
  };
  Json ci = nullptr;
  if (row.shift && row.shift->ci95) ci = {row.shift->ci95->first, row.shift->ci95->second};
  return {{"cell", row.cell},
          {"what", row.what},
          {"part", row.part},
          {"unit", compare_unit(row.unit)},
          {"judged", row.judged},
          {"paired", row.paired},
          {"series", row.series},
          {"a", sample_json(row.a, row.id_a)},
          {"b", sample_json(row.b, row.id_b)},
          {"ratio", of_shift(&Shift::ratio)},
          {"ratio_ci95", ci},
          {"p", of_shift(&Shift::p)},
          {"p_corrected", row.shift ? number_or_null(row.p_corrected) : Json(nullptr)},
          {"cliffs_delta", of_shift(&Shift::delta)},
          {"noise_floor", number_or_null(row.floor)},
          {"threshold", number_or_null(row.threshold)},
          {"verdict", to_string(row.change)},
          {"reason", row.why}};
}

}  // namespace

std::string compare_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const CompareRow& row : comparison.rows) rows.push_back(row_json(row));
  Json counts = Json::object();
  for (const Change change : {Change::kBroken, Change::kRegress, Change::kInconclusive,
                              Change::kImprove, Change::kSame}) {
    counts[to_string(change)] = comparison.count(change);
  }
  const Json all = {{"schema", 1},
                    {"a", comparison.name_a},
                    {"b", comparison.name_b},
                    {"alpha", comparison.rule.alpha},
                    {"min_effect", comparison.rule.least_effect},
                    {"ignored", comparison.rule.ignore},
                    {"verdict", to_string(comparison.verdict())},
                    {"counts", std::move(counts)},
                    {"launches_needed", comparison.launches_needed()},
                    {"notes", comparison.notes},
                    {"rows", std::move(rows)}};
  return printable_json(json_text(all));
}

}  // namespace plumbline
