// Pictures as gnuplot scripts. The script is complete and can be run again and edited by hand;
// everything that came from a record is quoted as a literal string, so that no record can smuggle a
// command into it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/units.h"
#include "reports/picture.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// Okabe and Ito's palette, which colour-blind people can tell apart (Wong, Nature Methods 8, 2011),
// without its yellow, too pale on white; with a symbol each for print in grey.
struct Look {
  const char* colour;
  int symbol;
};
constexpr std::array<Look, kMaxSeries> kLooks = {{{"#0072B2", 7},
                                                  {"#D55E00", 5},
                                                  {"#009E73", 9},
                                                  {"#CC79A7", 11},
                                                  {"#E69F00", 13},
                                                  {"#56B4E9", 6},
                                                  {"#000000", 4},
                                                  {"#7F7F7F", 8}}};

constexpr size_t kMaxTics = 10;
constexpr size_t kTitleColumns = 100;  // that fit the canvas
constexpr size_t kLabelColumns = 46;   // two legend entries beside one another
constexpr double kLinearSpan = 30;     // rates within this factor are drawn on a linear axis from 0

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : clean(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

// Titles must stay on the canvas, however long the names in a record are.
std::string cut(const std::string& text, size_t columns = kTitleColumns) {
  const std::string safe = clean(text);
  return fit(safe, std::min(columns, display_width(safe)), true);
}

// ns -> us, bytes/s -> GB/s, operations/s as they are.
double shown(YAxis axis, double value) {
  switch (axis) {
    case YAxis::kTime:
      return value / 1e3;
    case YAxis::kBusBandwidth:
    case YAxis::kDataRate:
      return value / 1e9;
    case YAxis::kOperationRate:
      break;
  }
  return value;
}

const char* label_of(YAxis axis) {
  switch (axis) {
    case YAxis::kTime:
      return "time per operation, median of the slowest rank (us)";
    case YAxis::kBusBandwidth:
      return "bus bandwidth (GB/s, 10^9 bytes per second)";
    case YAxis::kDataRate:
      return "data rate (GB/s, 10^9 bytes per second)";
    case YAxis::kOperationRate:
      break;
  }
  return "throughput (operations/s)";
}

const char* label_of(XAxis axis) {
  switch (axis) {
    case XAxis::kBytes:
      return "size (bytes)";
    case XAxis::kRanks:
      return "ranks";
    case XAxis::kOutstanding:
      break;
  }
  return "operations outstanding at once";
}

struct Extent {
  double least = INFINITY, most = -INFINITY;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

struct Frame {
  Extent x, y;  // in shown units
  bool log_y = true;
};

Frame frame_of(const Picture& picture) {
  Frame frame;
  for (const std::vector<Series>* list : {&picture.series, &picture.guides}) {
    for (const Series& series : *list) {
      for (const Point& point : series.points) {
        frame.x.add(point.x);
        frame.y.add(shown(picture.y, point.y));
        if (point.band) {
          frame.y.add(shown(picture.y, point.band->first));
          frame.y.add(shown(picture.y, point.band->second));
        }
      }
    }
  }
  frame.log_y = picture.y == YAxis::kTime || frame.y.most > kLinearSpan * frame.y.least;
  return frame;
}

// Tics at the sizes that are powers of two, thinned out; `round` makes the label.
template <typename Label>
std::string power_tics(const Extent& extent, const Label& label) {
  const int first = static_cast<int>(std::ceil(std::log2(extent.least) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(extent.most) + 1e-9));
  if (first > last) return fmt::format("({} {:.17g})", literal(label(extent.least)), extent.least);
  const int step = std::max(1, static_cast<int>(std::ceil((last - first + 1) / double{kMaxTics})));
  std::vector<std::string> tics;
  for (int power = first; power <= last; power += step) {
    tics.push_back(fmt::format("{} {:.17g}", literal(label(std::exp2(power))), std::exp2(power)));
  }
  return "(" + join(tics, ", ") + ")";
}

std::string x_commands(const Picture& picture, const Frame& frame) {
  const bool bytes = picture.x == XAxis::kBytes;
  // The empty line keeps the legend below off the label.
  std::string out = fmt::format("set xlabel {}.\"\\n \"\n", literal(label_of(picture.x)));
  if (picture.x == XAxis::kRanks) {
    return out + fmt::format("set xrange [{:g}:{:g}]\nset xtics 1\n", frame.x.least - 0.5,
                             frame.x.most + 0.5);
  }
  const double margin = frame.x.most > frame.x.least ? 1.25 : 4;
  out += "set logscale x 2\n";
  out +=
      fmt::format("set xrange [{:.17g}:{:.17g}]\n", frame.x.least / margin, frame.x.most * margin);
  const auto label = [bytes](double value) {
    return bytes ? format_bytes(static_cast<uint64_t>(value)) : fmt::format("{:g}", value);
  };
  return out + "set xtics " + power_tics(frame.x, label) + "\n";
}

// Tics at powers of ten, with the more mantissas between them the shorter the range.
std::string log_tics(double least, double most) {
  const double span = most / least;
  const std::vector<double> mantissas = span < 12    ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 7}
                                        : span < 200 ? std::vector<double>{1, 2, 5}
                                                     : std::vector<double>{1};
  std::vector<std::string> tics;
  for (int decade = static_cast<int>(std::floor(std::log10(least)));
       decade <= static_cast<int>(std::ceil(std::log10(most))); ++decade) {
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10, decade);
      if (value < least || value > most) continue;
      tics.push_back(fmt::format("'{:.10g}' {:.10g}", value, value));
    }
  }
  return "(" + join(tics, ", ") + ")";
}

std::string y_commands(const Picture& picture, const Frame& frame) {
  std::string out = fmt::format("set ylabel {}\n", literal(label_of(picture.y)));
  if (!frame.log_y) return out + fmt::format("set yrange [0:{:.6g}]\n", frame.y.most * 1.08);
  const double least = frame.y.least / 1.4;
  const double most = frame.y.most * 1.4;
  out += fmt::format("set logscale y 10\nset yrange [{:.6g}:{:.6g}]\n", least, most);
  return out + "set ytics " + log_tics(least, most) + "\n";
}

// The data file's blocks (gnuplot's "index") of one series: its points, the stretches of at least
// two neighbours that have an interval (drawn as a band), and the lonely intervals (drawn as bars).
struct Blocks {
  std::vector<Point> points;
  std::vector<std::vector<Point>> band;
  std::vector<Point> bars;
};

Blocks blocks_of(const Series& series) {
  Blocks blocks{series.points, {}, {}};
  std::vector<Point> run;
  const auto finish = [&] {
    if (run.size() == 1) blocks.bars.push_back(run.front());
    if (run.size() > 1) blocks.band.push_back(run);
    run.clear();
  };
  for (const Point& point : series.points) {
    if (point.band) {
      run.push_back(point);
    } else {
      finish();
    }
  }
  finish();
  return blocks;
}

const char* column_names(const Picture& picture) {
  switch (picture.y) {
    case YAxis::kTime:
      return "time_us";
    case YAxis::kBusBandwidth:
      return "busbw_GB_per_s";
    case YAxis::kDataRate:
      return "data_GB_per_s";
    case YAxis::kOperationRate:
      break;
  }
  return "operations_per_s";
}

std::string points_text(const std::vector<Point>& points, YAxis axis, bool band) {
  std::string out;
  for (const Point& point : points) {
    out += fmt::format("{:.10g} {:.10g}", point.x, shown(axis, point.y));
    if (band && point.band) {
      out += fmt::format(" {:.10g} {:.10g}", shown(axis, point.band->first),
                         shown(axis, point.band->second));
    }
    out += "\n";
  }
  return out;
}

std::string plot_command(const Picture& picture) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& style) {
    lines.push_back(fmt::format("  data index {} {}", lines.size(), style));
  };
  for (size_t i = 0; i < picture.series.size(); ++i) {
    const Look& look = kLooks[i % kLooks.size()];
    const Blocks blocks = blocks_of(picture.series[i]);
    const char* style = blocks.points.size() > 1 ? "linespoints lw 2" : "points";
    add(fmt::format("using 1:2 with {} pt {} ps 0.9 lc rgb '{}' title {}", style, look.symbol,
                    look.colour, literal(cut(picture.series[i].label, kLabelColumns))));
    if (!blocks.band.empty()) {
      add(fmt::format("using 1:3:4 with filledcurves lc rgb '{}' notitle", look.colour));
    }
    if (!blocks.bars.empty()) {
      add(
          fmt::format("using 1:3:(0):($4-$3) with vectors heads size screen 0.005,90 lw 1.5 "
                      "lc rgb '{}' notitle",
                      look.colour));
    }
  }
  for (const Series& guide : picture.guides) {
    const char* style = guide.points.size() > 1 ? "lines dt 2 lw 2" : "points pt 2";
    add(fmt::format("using 1:2 with {} lc rgb '#444444' title {}", style,
                    literal(cut(guide.label, kLabelColumns))));
  }
  return "plot \\\n" + join(lines, ", \\\n") + "\n";
}

}  // namespace

std::string data_text(const Picture& picture) {
  std::string out = fmt::format("# {}\n# {}\n", clean(picture.title), clean(picture.subtitle));
  const std::string x = picture.x == XAxis::kBytes   ? "size_bytes"
                        : picture.x == XAxis::kRanks ? "ranks"
                                                     : "outstanding";
  const std::string y = column_names(picture);
  size_t index = 0;
  const auto start = [&](const std::string& what, const std::string& columns) {
    if (index) out += "\n\n";
    out += fmt::format("# index {}: {}\n# {}\n", index++, clean(what), columns);
  };
  for (const Series& series : picture.series) {
    const Blocks blocks = blocks_of(series);
    start(series.label, x + " " + y);
    out += points_text(blocks.points, picture.y, false);
    const std::string columns = x + " " + y + " ci95_low ci95_high";
    if (!blocks.band.empty()) {
      start(series.label + ", band", columns);
      for (size_t i = 0; i < blocks.band.size(); ++i) {
        if (i) out += "\n";  // one empty line: the band is interrupted here
        out += points_text(blocks.band[i], picture.y, true);
      }
    }
    if (!blocks.bars.empty()) {
      start(series.label + ", bars", columns);
      out += points_text(blocks.bars, picture.y, true);
    }
  }
  for (const Series& guide : picture.guides) {
    start(guide.label, x + " " + y);
    out += points_text(guide.points, picture.y, false);
  }
  return out;
}

std::string script_text(const Picture& picture) {
  const Frame frame = frame_of(picture);
  const size_t labels = picture.series.size() + picture.guides.size();
  const size_t height = 520 + 22 * ((labels + 1) / 2);
  std::string out = fmt::format("# Run in this folder: gnuplot {}.gp\n", picture.name);
  out += fmt::format("data = '{}.dat'\n", picture.name);
  out += "set encoding utf8\n";
  out += "set style fill transparent solid 0.2 noborder\n";
  out += fmt::format(
      "set title {}.\"\\n\".{} noenhanced\n",
      literal(fit(picture.title, std::min<size_t>(90, display_width(clean(picture.title))), true)),
      literal(picture.subtitle));
  out +=
      "set grid back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset rmargin 5\nset border 3\nset tics "
      "nomirror\n";
  out += "set key outside bottom center horizontal Left reverse noenhanced maxcols 2\n";
  out += x_commands(picture, frame);
  out += y_commands(picture, frame);
  out += fmt::format(
      "set terminal svg size 860,{} font 'DejaVu Sans,13' background '#FFFFFF' noenhanced\n",
      height);
  out += fmt::format("set output '{}.svg'\n", picture.name);
  out += plot_command(picture);
  out +=
      fmt::format("set terminal pngcairo size 860,{} font 'DejaVu Sans,11' noenhanced\n", height);
  out += fmt::format("set output '{}.png'\nreplot\nunset output\n", picture.name);
  return out;
}

}  // namespace plumbline
