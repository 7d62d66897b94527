// A chart as data, whatever its kind: two axes with their tics, and series that are drawn as lines
// with bands, dots, boxes or bars. Lines (picture.h), tail distributions, boxes per rank, bars and
// strips all become one of these, and so have one gnuplot script, one data file and one list of
// values to read off. Numbers are in the units of the axes' labels. Plain values, pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumbline {

struct ChartTic {
  double at = 0;
  std::string label;
};

struct ChartAxis {
  enum class Scale { kLinear, kLog2, kLog10 };
  std::string label;   // with its unit: "size (bytes)"
  std::string column;  // of the data file: "size_bytes"
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;         // low < high; above 0 on a log scale
  std::vector<ChartTic> tics = {};  // none: round numbers, as gnuplot finds them
};

// How a series is drawn.
enum class ChartMark {
  kLine,   // points joined by a line, with a band (or bars) where points have a range
  kCurve,  // a line without points
  kDots,
  kBox,    // a box with whiskers at each x; needs ChartPoint::box
  kBar,    // lying, from 0 to x, at height y
  kGuide,  // dashed and grey: a measured roof, a median
};

struct ChartPoint {
  double x = 0, y = 0;
  std::optional<std::pair<double, double>> range = {};  // of y: a 95 % confidence interval
  std::optional<std::array<double, 4>> box =
      {};                 // lower whisker, lower and upper edge, upper whisker
  std::string says = {};  // in words with units: "64 KiB: 12.3 us"
  bool hollow = false;    // noisy: drawn hollow, and the legend says so
  bool apart = false;     // of a guide: not joined to the point before it
};

struct ChartSeries {
  std::string label;
  ChartMark mark = ChartMark::kLine;
  std::vector<ChartPoint> points = {};  // ascending x for lines; at least one
  std::vector<ChartPoint> faint =
      {};  // goes on behind the last point, dashed: few samples carry it
};

bool has_hollow(const ChartSeries& series);
// Whether any two points of it are neighbours that are joined: else a guide is crosses.
bool is_joined(const ChartSeries& series);
bool has_lonely(const ChartSeries& series);  // a point that is joined to none

struct Chart {
  std::string name;  // file name without ending: "tail_allreduce_2r"
  std::string title, subtitle;
  std::string says;  // a sentence or two for those who cannot see it
  ChartAxis x, y;
  std::vector<ChartSeries> series;  // 1 to kMaxSeries, and guides
  bool always_legend = false;       // also where there is but one series: it has a name to say
};

// Drawn in this order: Okabe and Ito's palette, which colour-blind people can tell apart (Wong,
// Nature Methods 8, 2011), without its yellow, too pale on white; with a symbol each for print in
// grey. From the ninth series on colours return, with dashed lines and other symbols.
struct ChartLook {
  size_t colour;  // in chart_colours()
  int symbol;     // gnuplot's point type, filled; the hollow one is the number before it
  bool dashed;
};
const std::array<const char*, 8>& chart_colours();  // "#0072B2"
ChartLook look_of(size_t series);
int cross_of(size_t guide);  // point type of the first, second ... guide where it stands alone
inline constexpr const char* kHollowWords = "hollow: noisy";
inline constexpr const char* kGuideColour = "#444444";
inline constexpr const char* kGridColour = "#DDDDDD";

// Where the plotting area lies on a canvas, in shares of its width and height from the left and the
// bottom.
struct ChartFrame {
  int width = 560, height = 320;  // pixels
  double left = 0.13, right = 0.95, bottom = 0.1, top = 0.95;
};
ChartFrame inline_frame(const Chart& chart);
// Pixels from the left and the top of the canvas.
std::pair<double, double> pixel_of(const Chart& chart, const ChartFrame& frame,
                                   const ChartPoint& point);

// The data file's text: one block ("index") for everything that is drawn.
std::string chart_data(const Chart& chart);
// Which series each element of the plot command belongs to, in its order.
std::vector<size_t> chart_blocks(const Chart& chart);
// Reads NAME.dat and writes NAME.svg and NAME.png in the current folder: title, labels and legend
// are part of the picture.
std::string chart_script(const Chart& chart);
// Reads STEM.dat and writes STEM.svg: the plotting area and the numbers at its axes only, at the
// places of `frame`; for a page that has title, labels and legend as text of its own.
std::string inline_script(const Chart& chart, const ChartFrame& frame, const std::string& stem);

// A string of gnuplot, cleaned and cut to so many columns, that means just itself: no text can
// escape from it.
std::string gnuplot_literal(std::string_view text, size_t columns = SIZE_MAX);

// Tics at the powers of two, thinned out; `label` writes one.
std::vector<ChartTic> power_tics(double low, double high, std::string (*label)(double));
// Tics at powers of ten, with the more mantissas between them the shorter the range.
std::vector<ChartTic> decade_tics(double low, double high);
// A logarithmic axis from the least to the most, with so many times as much room at both ends.
void make_log(ChartAxis& axis, double least, double most, double margin);
// Half a dozen round numbers.
std::vector<ChartTic> linear_tics(double low, double high);

// Names of the series of a chart: of everything that is known about each one only what tells them
// apart, so that a legend stays readable.

// What may stand in a label.
struct LabelColumn {
  enum class When {
    kVaries,  // where the series differ in it
    kNeeded,  // only of series that nothing else tells apart (the run)
    kAlways,
  };
  When when = When::kVaries;
};

// One label per row, its words in the order of the columns; rows that are equal get equal labels. A
// row has as many words as there are columns; empty words are left out. Where a label would be
// empty it is the row's first word.
std::vector<std::string> series_labels(const std::vector<LabelColumn>& columns,
                                       const std::vector<std::vector<std::string>>& rows);

// Beginnings of ids ("import-0123456789ab"), as short as they still differ, but no shorter than
// people can recognise.
std::vector<std::string> short_ids(const std::vector<std::string>& ids);

// Cleaned, and at most so many columns wide: what is too long loses its middle, because names often
// differ in their ends only.
std::string fit_label(const std::string& text, size_t columns);

}  // namespace plumbline
