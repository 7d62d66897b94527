// Charts as gnuplot scripts. The script of a file is complete and can be run again and edited by
// hand; everything that came from a record is quoted as a literal string, so that no record can
// smuggle a command into it.
#include <fmt/format.h>

#include <algorithm>

#include "reports/chart.h"
#include "reports/series_labels.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kTitleColumns = 90;  // that fit the canvas
constexpr size_t kLabelColumns = 46;  // two legend entries beside one another
constexpr size_t kLongLabel = 96;     // one a line

// Titles must stay on the canvas, however long the names in a record are.
std::string cut(const std::string& text, size_t columns) {
  const std::string safe = clean(text);
  return fit(safe, std::min(columns, display_width(safe)), true);
}

// What is drawn of one series, in this order; each part is a block of the data file.
enum class Part { kPoints, kBand, kBars, kFaint };
struct Block {
  size_t series = 0;
  Part part = Part::kPoints;
  std::vector<std::vector<ChartPoint>> stretches;  // an empty line between them
};

// Neighbours that have a range make a band, lonely ones are drawn as bars.
void add_ranges(const ChartSeries& series, size_t index, std::vector<Block>& blocks) {
  Block band{index, Part::kBand, {}}, bars{index, Part::kBars, {{}}};
  std::vector<ChartPoint> run;
  const auto finish = [&] {
    if (run.size() == 1) bars.stretches.front().push_back(run.front());
    if (run.size() > 1) band.stretches.push_back(run);
    run.clear();
  };
  for (const ChartPoint& point : series.points) {
    if (point.range) {
      run.push_back(point);
    } else {
      finish();
    }
  }
  finish();
  if (!band.stretches.empty()) blocks.push_back(std::move(band));
  if (!bars.stretches.front().empty()) blocks.push_back(std::move(bars));
}

std::vector<Block> blocks_of(const Chart& chart) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& series = chart.series[i];
    blocks.push_back({i, Part::kPoints, {series.points}});
    if (series.mark == ChartMark::kLine) add_ranges(series, i, blocks);
    if (series.faint.empty()) continue;
    Block faint{i, Part::kFaint, {{series.points.back()}}};
    faint.stretches[0].insert(faint.stretches[0].end(), series.faint.begin(), series.faint.end());
    blocks.push_back(std::move(faint));
  }
  return blocks;
}

// "using ... with ..." of a block, without its title.
std::string style_of(const ChartSeries& series, const Block& block, const ChartLook& look) {
  const bool several = series.points.size() > 1;
  if (block.part == Part::kBand) {
    return fmt::format("using 1:3:4 with filledcurves lc rgb '{}'", look.colour);
  }
  if (block.part == Part::kBars) {
    return fmt::format(
        "using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 lw 1.5 lc rgb '{}'",
        look.colour);
  }
  if (block.part == Part::kFaint) {
    return fmt::format("using 1:2 with lines lw 1.5 dt 3 lc rgb '{}'", look.colour);
  }
  switch (series.mark) {
    case ChartMark::kLine:
      return fmt::format("using 1:2 with {} pt {} ps 0.9 lc rgb '{}'",
                         several ? "linespoints lw 2" : "points", look.symbol, look.colour);
    case ChartMark::kCurve:
      return fmt::format("using 1:2 with {} lc rgb '{}'", several ? "lines lw 2" : "points pt 7",
                         look.colour);
    case ChartMark::kDots:
      return fmt::format("using 1:2 with points pt 7 ps 0.45 lc rgb '{}'", look.colour);
    case ChartMark::kBox:
      return fmt::format("using 1:4:3:6:5 with candlesticks whiskerbars 0.5 lw 1.5 lc rgb '{}'",
                         look.colour);
    case ChartMark::kBar:
      return fmt::format("using 1:2:(0):1:($2-0.34):($2+0.34) with boxxyerror lc rgb '{}'",
                         look.colour);
    case ChartMark::kGuide:
      break;
  }
  return fmt::format("using 1:2 with {} lc rgb '{}'", several ? "lines dt 2 lw 2" : "points pt 2",
                     kGuideColour);
}

std::string plot_command(const Chart& chart) {
  std::vector<std::string> lines;
  for (const Block& block : blocks_of(chart)) {
    const ChartSeries& series = chart.series[block.series];
    const ChartLook& look = chart_looks()[block.series % chart_looks().size()];
    const std::string title = block.part == Part::kPoints
                                  ? "title " + gnuplot_literal(fit_label(series.label, kLongLabel))
                                  : std::string("notitle");
    const size_t index = lines.size();
    lines.push_back(
        fmt::format("  data index {} {} {}", index, style_of(series, block, look), title));
  }
  // The median of a box, over it.
  size_t index = 0;
  for (const Block& block : blocks_of(chart)) {
    if (chart.series[block.series].mark == ChartMark::kBox) {
      lines.push_back(fmt::format(
          "  data index {} using 1:2:2:2:2 with candlesticks lw 2.5 lc rgb '{}' notitle", index,
          kGuideColour));
    }
    ++index;
  }
  return "plot \\\n" + join(lines, ", \\\n") + "\n";
}

std::string tics_text(const std::vector<ChartTic>& tics, size_t columns) {
  std::vector<std::string> parts;
  parts.reserve(tics.size());
  for (const ChartTic& tic : tics) {
    parts.push_back(fmt::format("{} {:.10g}", gnuplot_literal(cut(tic.label, columns)), tic.at));
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
  std::string out = "set encoding utf8\nset style fill transparent solid 0.2 noborder\n";
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

const std::array<ChartLook, 8>& chart_looks() {
  static const std::array<ChartLook, 8> kLooks = {{{"#0072B2", 7},
                                                   {"#D55E00", 5},
                                                   {"#009E73", 9},
                                                   {"#CC79A7", 11},
                                                   {"#E69F00", 13},
                                                   {"#56B4E9", 6},
                                                   {"#000000", 4},
                                                   {"#7F7F7F", 8}}};
  return kLooks;
}

std::string gnuplot_literal(std::string_view text) {
  std::string out = "'";
  for (const char c : clean(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string chart_data(const Chart& chart) {
  std::string out = fmt::format("# {}\n# {}\n", clean(chart.title), clean(chart.subtitle));
  size_t index = 0;
  for (const Block& block : blocks_of(chart)) {
    const ChartSeries& series = chart.series[block.series];
    const bool range = block.part == Part::kBand || block.part == Part::kBars;
    const bool box = series.mark == ChartMark::kBox;
    if (index > 0) out += "\n\n";
    out += fmt::format("# index {}: {}{}\n# {} {}{}{}\n", index++, clean(series.label),
                       block.part == Part::kBand    ? ", band"
                       : block.part == Part::kBars  ? ", bars"
                       : block.part == Part::kFaint ? ", few samples"
                                                    : "",
                       chart.x.column, chart.y.column, range ? " ci95_low ci95_high" : "",
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
  std::vector<size_t> owners, boxes;
  for (const Block& block : blocks_of(chart)) {
    owners.push_back(block.series);
    if (chart.series[block.series].mark == ChartMark::kBox) boxes.push_back(block.series);
  }
  owners.insert(owners.end(), boxes.begin(), boxes.end());
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
  std::string out = fmt::format("# Run in this folder: gnuplot {}.gp\n", chart.name);
  out += fmt::format("data = '{}.dat'\n", chart.name);
  out += common_commands(chart);
  out += fmt::format("set title {}.\"\\n\".{} noenhanced\n",
                     gnuplot_literal(cut(chart.title, kTitleColumns)),
                     gnuplot_literal(cut(chart.subtitle, kTitleColumns + 10)));
  out += "set rmargin 5\n";
  out +=
      fmt::format("set key outside bottom center horizontal Left reverse noenhanced maxcols {}\n",
                  beside ? 2 : 1);
  // The empty line keeps the legend below off the label.
  out += fmt::format("set xlabel {}.\"\\n \"\n", gnuplot_literal(chart.x.label));
  out += axis_commands("x", chart.x, kLabelColumns);
  out += fmt::format("set ylabel {}\n", gnuplot_literal(chart.y.label));
  out += axis_commands("y", chart.y, kLabelColumns);
  out += fmt::format(
      "set terminal svg size 860,{} font 'DejaVu Sans,13' background '#FFFFFF' noenhanced\n",
      height);
  out += fmt::format("set output '{}.svg'\n", chart.name);
  out += plot_command(chart);
  out +=
      fmt::format("set terminal pngcairo size 860,{} font 'DejaVu Sans,11' noenhanced\n", height);
  out += fmt::format("set output '{}.png'\nreplot\nunset output\n", chart.name);
  return out;
}

std::string inline_script(const Chart& chart, const ChartFrame& frame, const std::string& stem) {
  constexpr size_t kTicColumns = 26;
  std::string out = "reset\nunset key\n" + common_commands(chart);
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
