#include "reports/charts/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/record/link.h"
#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kMostLabelled = 16;  // ranks: more fields are too small for numbers
constexpr int kField = 84;         // pixels of a field's side
constexpr int kLeastField = 14;
constexpr int kMostPixels = 1500;  // of the fields together
constexpr double kLeastSpan = 3;   // of the colours: noise shall not look like a fault
constexpr double kLeastShare = 1;  // percent at the end of the scale of a share
constexpr double kMostShare = 5;   // one field of 60 % shall not hide another of 3 %
constexpr size_t kNameColumns = 14;

// A string of a data file: gnuplot reads it up to the next quotation mark.
std::string data_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : clean(text)) out += c == '"' || c == '\\' ? '\'' : c;
  return out + "\"";
}

double shown_value(LinkUnit unit, double value) {
  constexpr std::pair<double, double> kScales[] = {{1, 1e3}, {8, 1e9}, {100, 1}, {1, 1e6}};
  const auto& [times, over] = kScales[static_cast<size_t>(unit)];
  return value * times / over;
}

const char* unit_text(LinkUnit unit) {
  constexpr const char* kUnits[] = {"us", "Gb/s (10^9 bits per second)", "% (5 and more alike)",
                                    "M/s (10^6 messages a second)"};
  return kUnits[static_cast<size_t>(unit)];
}

struct Range {
  double low = 0, high = 0;
};

Range colours_of(const LinkGrid& grid) {
  Range range{INFINITY, -INFINITY};
  for (const auto& value : grid.values) {
    if (!value || !std::isfinite(*value)) continue;
    range.low = std::min(range.low, shown_value(grid.unit, *value));
    range.high = std::max(range.high, shown_value(grid.unit, *value));
  }
  if (grid.unit == LinkUnit::kShare) return {0, std::clamp(range.high, kLeastShare, kMostShare)};
  if (range.low <= 0) range.low = std::max(range.high, 1e-9) / 1e3;
  if (higher_is_better(grid.unit)) range.low = std::min(range.low, range.high / kLeastSpan);
  if (grid.unit == LinkUnit::kTime) range.high = std::max(range.high, range.low * kLeastSpan);
  return range;
}

// Numbers at the colour bar, where its scale is logarithmic.
std::string colour_tics(const Range& range) {
  const double span = range.high / range.low;
  const std::vector<double> mantissas = span < 8     ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 7}
                                        : span < 200 ? std::vector<double>{1, 2, 5}
                                                     : std::vector<double>{1};
  std::vector<std::string> parts;
  for (double decade = std::pow(10, std::floor(std::log10(range.low))); decade <= range.high;
       decade *= 10) {
    for (const double mantissa : mantissas) {
      const double value = mantissa * decade;
      if (value >= range.low && value <= range.high) {
        parts.push_back(fmt::format("'{0:.3g}' {0:.6g}", value));
      }
    }
  }
  return "(" + join(parts, ", ") + ")";
}

std::string tics(const LinkWorld& world) {
  std::vector<std::string> parts;
  for (size_t rank = 0; rank < world.names.size(); ++rank) {
    parts.push_back(fmt::format("{} {}", gnuplot_literal(world.names[rank], kNameColumns), rank));
  }
  return "(" + join(parts, ", ") + ")";
}

}  // namespace

std::string heat_map_data(const LinkWorld& world, const LinkGrid& grid) {
  std::string out = fmt::format("# {}, {}\n# index 0: from to value ({})\n", clean(grid.title),
                                clean(world.title), unit_text(grid.unit));
  std::string labels;
  for (int from = 0; from < world.ranks; ++from) {
    for (int to = 0; to < world.ranks; ++to) {
      const auto& value = grid.values[pair_index(world.ranks, from, to)];
      const bool known = value && std::isfinite(*value);
      out += known ? fmt::format("{} {} {:.10g}\n", from, to, shown_value(grid.unit, *value))
                   : fmt::format("{} {} NaN\n", from, to);
      if (!known) continue;
      const std::string below = grid.unit == LinkUnit::kRate ? gbps_text(value) + " GB/s" : " ";
      labels += fmt::format("{} {} {} {}\n", from, to, data_string(grid_text(grid.unit, value)),
                            data_string(below));
    }
    out += "\n";  // gnuplot's image wants one line of fields after the other
  }
  return out + "\n# index 1: from to text second_line\n" + labels;
}

std::optional<double> heat_of(const LinkGrid& grid, size_t pair) {
  const auto& value = grid.values.at(pair);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  const Range range = colours_of(grid);
  const double at = std::clamp(shown_value(grid.unit, *value), range.low, range.high);
  if (grid.unit == LinkUnit::kShare) return 1 - at / range.high;
  if (!(range.high > range.low)) return 1;
  const double share = std::log(at / range.low) / std::log(range.high / range.low);
  return higher_is_better(grid.unit) ? share : 1 - share;
}

std::string heat_map_script(const LinkWorld& world, const LinkGrid& grid, const std::string& name) {
  const Range range = colours_of(grid);
  const int field = std::clamp(kMostPixels / std::max(1, world.ranks), kLeastField, kField);
  const int width = 330 + field * world.ranks, height = 170 + field * world.ranks;
  const bool rate = higher_is_better(grid.unit);
  std::string out = script_head(name) + "unset key\nset size ratio -1\n";
  out += script_title(grid.title, world.title, SIZE_MAX);
  out += "set xlabel 'to (receiver)'\nset ylabel 'from (sender)'\n";
  out += fmt::format("set xrange [-0.5:{0}.5]\nset yrange [{0}.5:-0.5]\n", world.ranks - 1);
  out += fmt::format("set xtics {} rotate by -30 noenhanced scale 0\n", tics(world));
  out += fmt::format("set ytics {} noenhanced scale 0\n", tics(world));
  out +=
      "set object 1 rectangle from graph 0,0 to graph 1,1 behind fc rgb '#C4C4C4' fs solid "
      "noborder\n";
  // From what is bad to what is good; black text can be read on all of it.
  out += fmt::format("set palette defined (0 '{}', 0.33 '{}', 0.66 '{}', 1 '{}')\n",
                     rate ? "#D55E00" : "#7FB8E0", rate ? "#FDD5B1" : "#DCEBF7",
                     rate ? "#DCEBF7" : "#FDD5B1", rate ? "#7FB8E0" : "#D55E00");
  if (grid.unit != LinkUnit::kShare)
    out += "set logscale cb 10\nset cbtics " + colour_tics(range) + "\n";
  out +=
      fmt::format("set cbrange [{:.6g}:{:.6g}]\nset cblabel {} offset 1.5\nset format cb '%.3g'\n",
                  range.low, range.high, gnuplot_literal(unit_text(grid.unit)));
  std::string plot = "plot data index 0 using 2:1:3 with image";
  if (world.ranks <= kMostLabelled) {
    plot += fmt::format(", data index 1 using 2:1:3 with labels offset 0,{} noenhanced",
                        rate ? "0.5" : "0");
    if (rate) plot += ", data index 1 using 2:1:4 with labels offset 0,-0.6 noenhanced";
  }
  return out + script_tail(name, plot + "\n", width, height, 12);
}

}  // namespace plumbline
