// Charts as gnuplot scripts. The script of a file is complete and can be run again and edited by
// hand; everything that came from a record is quoted as a literal string, so that no record can
// smuggle a command into it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kTitleColumns = 90;  // that fit the canvas, however long names are
constexpr size_t kLabelColumns = 46;  // two legend entries beside one another
constexpr size_t kLongLabel = 96;     // one a line
constexpr const char* kPaperColour = "#FFFFFF";

// What is drawn of one series, in this order; each part is a block of the data file.
enum class Part { kPoints, kLonely, kBand, kBars, kHollow, kFaint };
struct DrawnBlock {
  size_t series = 0;
  Part part = Part::kPoints;
  std::vector<std::vector<ChartPoint>> stretches;  // an empty line between them
};

// What of a part the header of its block says.
const char* words_of(Part part) {
  constexpr const char* kWords[] = {"", ", alone", ", band", ", bars", ", noisy", ", few samples"};
  return kWords[static_cast<size_t>(part)];
}

// Neighbours that belong together are drawn as one stretch, and what stands alone in another way:
// of points with a range a band or bars, of a guide, which is joined only between neighbours that
// were both measured, lines or crosses.
void add_stretches(const ChartSeries& series, size_t index, std::vector<DrawnBlock>& blocks) {
  const bool guide = series.mark == ChartMark::kGuide;
  DrawnBlock joined{index, guide ? Part::kPoints : Part::kBand, {}};
  DrawnBlock lonely{index, guide ? Part::kLonely : Part::kBars, {{}}};
  std::vector<ChartPoint> run;
  const auto finish = [&] {
    if (run.size() == 1) lonely.stretches.front().push_back(run.front());
    if (run.size() > 1) joined.stretches.push_back(run);
    run.clear();
  };
  for (const ChartPoint& point : series.points) {
    if (guide ? point.apart : !point.range) finish();
    if (guide || point.range) run.push_back(point);
  }
  finish();
  if (!joined.stretches.empty()) blocks.push_back(std::move(joined));
  if (!lonely.stretches.front().empty()) blocks.push_back(std::move(lonely));
}

std::vector<DrawnBlock> blocks_of(const Chart& chart) {
  std::vector<DrawnBlock> blocks;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& series = chart.series[i];
    if (series.mark == ChartMark::kGuide) {
      add_stretches(series, i, blocks);
      continue;
    }
    blocks.push_back({i, Part::kPoints, {series.points}});
    if (series.mark == ChartMark::kLine) add_stretches(series, i, blocks);
    if (has_hollow(series)) {
      DrawnBlock hollow{i, Part::kHollow, {{}}};
      std::copy_if(series.points.begin(), series.points.end(),
                   std::back_inserter(hollow.stretches[0]),
                   [](const ChartPoint& point) { return point.hollow; });
      blocks.push_back(std::move(hollow));
    }
    if (series.faint.empty()) continue;
    DrawnBlock faint{i, Part::kFaint, {{series.points.back()}}};
    faint.stretches[0].insert(faint.stretches[0].end(), series.faint.begin(), series.faint.end());
    blocks.push_back(std::move(faint));
  }
  return blocks;
}

constexpr double kPointSize = 0.9;

std::string points_style(int symbol, const char* colour) {
  return fmt::format("using 1:2 with points pt {} ps {} lc rgb '{}'", symbol, kPointSize, colour);
}

std::string line_style(const ChartSeries& series, const ChartLook& look, const char* colour) {
  if (series.points.size() < 2) return points_style(look.symbol, colour);
  return fmt::format("using 1:2 with linespoints lw 2{} pt {} ps {} lc rgb '{}'",
                     look.dashed ? " dt 4" : "", look.symbol, kPointSize, colour);
}

// "using ... with ..." of the points of a series; `guide` counts the guides.
std::string series_style(const ChartSeries& series, const ChartLook& look, size_t guide) {
  const bool several = series.points.size() > 1;
  const char* colour = chart_colours()[look.colour];
  switch (series.mark) {
    case ChartMark::kLine:
      return line_style(series, look, colour);
    case ChartMark::kCurve:
      return fmt::format("using 1:2 with {} lc rgb '{}'", several ? "lines lw 2" : "points pt 7",
                         colour);
    case ChartMark::kDots:
      return fmt::format("using 1:2 with points pt 7 ps 0.45 lc rgb '{}'", colour);
    case ChartMark::kBox:
      return fmt::format("using 1:4:3:6:5 with candlesticks whiskerbars 0.5 lw 1.5 lc rgb '{}'",
                         colour);
    case ChartMark::kBar:
      return fmt::format("using 1:2:(0):1:($2-0.34):($2+0.34) with boxxyerror lc rgb '{}'", colour);
    case ChartMark::kGuide:
      break;
  }
  constexpr size_t kDashes = 3;  // from dt 2 on: dashes, dots, both
  return fmt::format("using 1:2 with lines dt {} lw 2 lc rgb '{}'", 2 + guide % kDashes,
                     kGuideColour);
}

// The same of the first thing that is drawn of a block.
std::string style_of(const ChartSeries& series, const DrawnBlock& block, size_t guide) {
  const ChartLook look = look_of(block.series);
  const char* colour = chart_colours()[look.colour];
  switch (block.part) {
    case Part::kPoints:
      break;
    case Part::kLonely:
      return fmt::format("using 1:2 with points pt {} ps 1.2 lw 2 lc rgb '{}'", cross_of(guide),
                         kGuideColour);
    case Part::kBand:
      return fmt::format("using 1:3:4 with filledcurves lc rgb '{}'", colour);
    case Part::kBars:
      return fmt::format(
          "using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 lw 1.5 lc rgb '{}'",
          colour);
    case Part::kHollow:
      return points_style(look.symbol, kPaperColour);  // the line does not show through
    case Part::kFaint:
      return fmt::format("using 1:2 with lines lw 1.5 dt 3 lc rgb '{}'", colour);
  }
  return series_style(series, look, guide);
}

// One element of the plot command.
struct Drawn {
  size_t series = 0, index = 0;  // of the block in the data file
  std::string style, title;      // no title: not in the legend
};

std::vector<Drawn> drawn_of(const Chart& chart) {
  std::vector<Drawn> drawn, medians;
  std::optional<size_t> named;
  size_t index = 0, guides = 0;
  bool hollow_told = false;
  for (const DrawnBlock& block : blocks_of(chart)) {
    const ChartSeries& series = chart.series[block.series];
    const bool first = named != block.series;
    named = block.series;
    if (first && series.mark == ChartMark::kGuide) ++guides;
    drawn.push_back({block.series, index, style_of(series, block, guides - 1),
                     first ? fit_label(series.label, kLongLabel) : std::string()});
    if (block.part == Part::kHollow) {
      const ChartLook look = look_of(block.series);
      drawn.push_back({block.series, index,
                       points_style(look.symbol - 1, chart_colours()[look.colour]),
                       std::exchange(hollow_told, true) ? "" : kHollowWords});
    }
    // The median of a box, over it.
    if (series.mark == ChartMark::kBox) {
      medians.push_back(
          {block.series, index,
           fmt::format("using 1:2:2:2:2 with candlesticks lw 2.5 lc rgb '{}'", kGuideColour), ""});
    }
    ++index;
  }
  drawn.insert(drawn.end(), medians.begin(), medians.end());
  return drawn;
}

std::string plot_command(const Chart& chart) {
  std::vector<std::string> lines;
  for (const Drawn& each : drawn_of(chart)) {
    lines.push_back(fmt::format(
        "  data index {} {} {}", each.index, each.style,
        each.title.empty() ? std::string("notitle") : "title " + gnuplot_literal(each.title)));
  }
  return "plot \\\n" + join(lines, ", \\\n") + "\n";
}

std::string tics_text(const std::vector<ChartTic>& tics, size_t columns) {
  std::vector<std::string> parts;
  parts.reserve(tics.size());
  for (const ChartTic& tic : tics) {
    parts.push_back(fmt::format("{} {:.10g}", gnuplot_literal(tic.label, columns), tic.at));
  }
  return "(" + join(parts, ", ") + ")";
}

std::string axis_commands(const char* which, const ChartAxis& axis, size_t tic_columns) {
  std::string out;
  if (axis.scale == ChartAxis::Scale::kLog2) out += fmt::format("set logscale {} 2\n", which);
  if (axis.scale == ChartAxis::Scale::kLog10) out += fmt::format("set logscale {} 10\n", which);
  out += fmt::format("set {}range [{:.10g}:{:.10g}]\n", which, axis.low, axis.high);
  if (axis.tics.empty()) return out;
  return out + fmt::format("set {}tics {} noenhanced\n", which, tics_text(axis.tics, tic_columns));
}

// What both kinds of scripts have: no styles but these, and the data on grid lines.
std::string common_commands(const Chart& chart) {
  std::string out = "set style fill transparent solid 0.2 noborder\n";
  const ChartMark mark = chart.series.front().mark;
  if (mark == ChartMark::kBox) {
    out += "set style fill transparent solid 0.2 border\nset boxwidth 0.5\n";
  }
  if (mark == ChartMark::kBar) out += "set style fill transparent solid 0.75 noborder\n";
  out += fmt::format("set grid {}back lt 1 lw 0.6 lc rgb '{}'\n",
                     mark == ChartMark::kBar ? "xtics noytics " : "", kGridColour);
  return out + "set border 3\nset tics nomirror\n";
}

}  // namespace

bool has_hollow(const ChartSeries& series) {
  return std::any_of(series.points.begin(), series.points.end(),
                     [](const ChartPoint& point) { return point.hollow; });
}

bool is_joined(const ChartSeries& series) {
  for (size_t i = 1; i < series.points.size(); ++i) {
    if (!series.points[i].apart) return true;
  }
  return false;
}

bool has_lonely(const ChartSeries& series) {
  const std::vector<ChartPoint>& points = series.points;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool begins = i == 0 || points[i].apart;
    const bool ends = i + 1 == points.size() || points[i + 1].apart;
    if (begins && ends) return true;
  }
  return false;
}

const std::array<const char*, 8>& chart_colours() {
  static const std::array<const char*, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
  return kColours;
}

ChartLook look_of(size_t series) {
  // Those of gnuplot's that come filled and hollow.
  constexpr std::array kSymbols = {7, 5, 9, 11, 13, 15};
  const size_t round = series / chart_colours().size();
  return {series % chart_colours().size(), kSymbols[(series + round) % kSymbols.size()],
          round % 2 == 1};
}

int cross_of(size_t guide) {
  constexpr std::array kCrosses = {2, 1, 3};
  return kCrosses[guide % kCrosses.size()];
}

std::string gnuplot_literal(std::string_view text, size_t columns) {
  std::string out = "'";
  for (const char c : cut(text, columns)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string chart_data(const Chart& chart) {
  std::string out = fmt::format("# {}\n# {}\n", clean(chart.title), clean(chart.subtitle));
  size_t index = 0;
  for (const DrawnBlock& block : blocks_of(chart)) {
    const ChartSeries& series = chart.series[block.series];
    const bool range = block.part == Part::kBand || block.part == Part::kBars;
    const bool box = series.mark == ChartMark::kBox;
    if (index > 0) out += "\n\n";
    out += fmt::format("# index {}: {}{}\n# {} {}{}{}\n", index++, clean(series.label),
                       words_of(block.part), chart.x.column, chart.y.column,
                       range ? " ci95_low ci95_high" : "",
                       box ? " whisker_low edge_low edge_high whisker_high" : "");
    for (size_t i = 0; i < block.stretches.size(); ++i) {
      if (i > 0) out += "\n";  // one empty line: the band is interrupted here
      for (const ChartPoint& point : block.stretches[i]) {
        out += fmt::format("{:.10g} {:.10g}", point.x, point.y);
        if (range && point.range) {
          out += fmt::format(" {:.10g} {:.10g}", point.range->first, point.range->second);
        }
        if (box && point.box) {
          for (const double value : *point.box) out += fmt::format(" {:.10g}", value);
        }
        out += "\n";
      }
    }
  }
  return out;
}

std::vector<size_t> chart_blocks(const Chart& chart) {
  std::vector<size_t> owners;
  for (const Drawn& each : drawn_of(chart)) owners.push_back(each.series);
  return owners;
}

std::string chart_script(const Chart& chart) {
  const bool bars = chart.series.front().mark == ChartMark::kBar;
  const size_t rows = bars ? static_cast<size_t>(26 * (chart.y.high - chart.y.low)) + 160 : 520;
  const bool beside =
      std::all_of(chart.series.begin(), chart.series.end(), [](const ChartSeries& series) {
        return display_width(clean(series.label)) <= kLabelColumns;
      });
  const size_t lines = beside ? (chart.series.size() + 1) / 2 : chart.series.size();
  const size_t height = rows + 22 * lines;
  std::string out = script_head(chart.name) + common_commands(chart);
  out += fmt::format("set title {}.\"\\n\".{} noenhanced\n",
                     gnuplot_literal(chart.title, kTitleColumns),
                     gnuplot_literal(chart.subtitle, kTitleColumns + 10));
  out += "set rmargin 5\n";
  out +=
      fmt::format("set key outside bottom center horizontal Left reverse noenhanced maxcols {}\n",
                  beside ? 2 : 1);
  // The empty line keeps the legend below off the label.
  out += fmt::format("set xlabel {}.\"\\n \"\n", gnuplot_literal(chart.x.label));
  out += axis_commands("x", chart.x, kLabelColumns);
  out += fmt::format("set ylabel {}\n", gnuplot_literal(chart.y.label));
  out += axis_commands("y", chart.y, kLabelColumns);
  return out + script_tail(chart.name, plot_command(chart), 860, static_cast<int>(height));
}

std::string inline_script(const Chart& chart, const ChartFrame& frame, const std::string& stem) {
  constexpr size_t kTicColumns = 26;
  std::string out = "reset\nunset key\nset encoding utf8\n" + common_commands(chart);
  out += fmt::format("data = {}\n", gnuplot_literal(stem + ".dat"));
  out += fmt::format(
      "set lmargin at screen {:.6g}\nset rmargin at screen {:.6g}\n"
      "set bmargin at screen {:.6g}\nset tmargin at screen {:.6g}\n",
      frame.left, frame.right, frame.bottom, frame.top);
  out += axis_commands("x", chart.x, kTicColumns) + axis_commands("y", chart.y, kTicColumns);
  out += fmt::format(
      "set tics scale 0.5\nset terminal svg size {},{} font 'DejaVu Sans,15' noenhanced\n",
      frame.width, frame.height);
  out += fmt::format("set output {}\n", gnuplot_literal(stem + ".svg"));
  return out + plot_command(chart) + "unset output\n";
}

}  // namespace plumbline
