// A comparison as JSON, and as a forest plot: one line a row, with the interval of its change. What
// came from a record is quoted, so that it can smuggle in no command.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/text.h"
#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/compare/compare.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

Json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

const char* compare_unit(CompareUnit unit) {
  constexpr const char* kUnits[] = {"ns", "ns per operation", "ns per byte"};
  return kUnits[static_cast<size_t>(unit)];
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

constexpr size_t kCompareLabel = 64;
constexpr size_t kCompareTitle = 80;
constexpr int kRowPixels = 24, kFramePixels = 150;
constexpr Change kOrder[] = {Change::kRegress, Change::kImprove, Change::kInconclusive,
                             Change::kSame};

std::vector<const CompareRow*> rows_to_draw(const Comparison& comparison) {
  std::vector<const CompareRow*> rows;
  for (const Change change : kOrder) {
    for (const CompareRow& row : comparison.rows) {
      const bool drawn = row.judged && row.shift && row.shift->ci95 && row.change == change;
      if (drawn && rows.size() < kMostCompareBars) rows.push_back(&row);
    }
  }
  return rows;
}

bool any_of(const std::vector<const CompareRow*>& rows, Change change) {
  return std::any_of(rows.begin(), rows.end(),
                     [change](const CompareRow* row) { return row->change == change; });
}

const char* change_colour(Change change) {
  constexpr const char* kColours[] = {"#D55E00", "#D55E00", "#7F7F7F", "#009E73", "#0072B2"};
  return kColours[static_cast<size_t>(change)];
}

double change_percent(double ratio) { return 100 * (ratio - 1); }

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

std::string compare_plot_data(const Comparison& comparison) {
  std::string out = "# one index a verdict that occurs: row change low high (percent)\n";
  const std::vector<const CompareRow*> rows = rows_to_draw(comparison);
  for (const Change change : kOrder) {
    if (!any_of(rows, change)) continue;
    out += fmt::format("# {}\n", to_string(change));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->change != change) continue;
      const auto& [low, high] = *rows[i]->shift->ci95;
      out += fmt::format("{} {:.6g} {:.6g} {:.6g}\n", i + 1, change_percent(rows[i]->shift->ratio),
                         change_percent(low), change_percent(high));
    }
    out += "\n\n";
  }
  return out;
}

std::string compare_plot_script(const Comparison& comparison, const std::string& name) {
  const std::vector<const CompareRow*> rows = rows_to_draw(comparison);
  std::string out =
      script_head(name) +
      script_title("b: " + comparison.name_b, "against a: " + comparison.name_a, kCompareTitle);
  out += "set grid xtics back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset border 3\nset tics nomirror\n";
  out += "set key outside bottom center horizontal Left reverse noenhanced\n";
  out += "set xlabel 'change of the time, 95 % confidence interval (%)'.\"\\n \"\n";
  // The line of no change is always in the picture.
  double least = -1, most = 1;
  for (const CompareRow* row : rows) {
    least = std::min(least, change_percent(row->shift->ci95->first));
    most = std::max(most, change_percent(row->shift->ci95->second));
  }
  const double margin = 0.05 * (most - least);
  out += fmt::format("set xrange [{:.6g}:{:.6g}]\n", least - margin, most + margin);
  out += fmt::format("set yrange [{}:0.3] noextend\n", static_cast<double>(rows.size()) + 0.7);
  std::vector<std::string> tics;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string part = rows[i]->part.empty() ? "" : ", " + rows[i]->part;
    tics.push_back(
        fmt::format("{} {}", gnuplot_literal(rows[i]->what + part, kCompareLabel), i + 1));
  }
  out += "set ytics noenhanced (" + join(tics, ", ") + ")\n";
  out += "set arrow from 0, graph 0 to 0, graph 1 nohead lw 1.2 lc rgb '#000000'\n";
  std::vector<std::string> parts;
  size_t index = 0;
  for (const Change change : kOrder) {
    if (!any_of(rows, change)) continue;
    parts.push_back(
        fmt::format("data index {} using 2:1:3:4 with xerrorbars pt 7 ps 0.9 lw 2 lc rgb '{}' "
                    "title '{}'",
                    index++, change_colour(change), to_string(change)));
  }
  const std::string plot = "plot \\\n  " + join(parts, ", \\\n  ") + "\n";
  const int height = kFramePixels + kRowPixels * static_cast<int>(rows.size());
  return out + script_tail(name, plot, 1100, height);
}

}  // namespace plumbline
