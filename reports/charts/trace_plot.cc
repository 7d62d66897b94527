#include "reports/charts/trace_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/command.h"
#include "core/file.h"
#include "core/host/requirement.h"
#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDrawingMs = 60'000;
constexpr double kNoteworthy = 0.1;  // share of the other direction's bytes

// How marks look: Okabe and Ito's colours, which colour-blind people can tell apart, and symbols.
struct Mark {
  TracePointKind kind;
  bool by_receiver;  // drawn at the acknowledged byte, not at the bytes that were sent
  const char* label;
  const char* colour;
  int symbol;
};
constexpr std::array<Mark, 8> kMarks = {{
    {TracePointKind::kRetransmission, false, "sent again", "#D55E00", 5},
    {TracePointKind::kOutOfOrder, false, "out of order", "#CC79A7", 9},
    {TracePointKind::kProbe, false, "keepalive or probe", "#E69F00", 13},
    {TracePointKind::kSyn, false, "SYN", "#000000", 8},
    {TracePointKind::kFin, false, "FIN", "#000000", 10},
    {TracePointKind::kRst, false, "RST", "#000000", 2},
    {TracePointKind::kDuplicateAck, true, "duplicate ACK", "#009E73", 1},
    {TracePointKind::kZeroWindow, true, "window closed", "#56B4E9", 7},
}};

struct Unit {
  double size;
  const char* name;
};

Unit byte_unit(int64_t most) {
  if (most >= 2'000'000) return {1e6, "MB (10^6 bytes)"};
  if (most >= 20'000) return {1e3, "kB (10^3 bytes)"};
  return {1, "bytes"};
}
Unit time_unit(int64_t span_ns) {
  if (span_ns >= 2'000'000'000) return {1e9, "s"};
  if (span_ns >= 2'000'000) return {1e6, "ms"};
  return {1e3, "us"};
}

// One direction: rows of data blocks and the plot commands that draw them.
class Panel {
 public:
  Panel(const TracePoints& points, bool from_a, int number)
      : points_(points), from_a_(from_a), block_(fmt::format("$panel{}", number)) {
    for (const TracePoint& point : points.points) {
      if (point.from_a == from_a && point.kind != TracePointKind::kRst) {
        most_ = std::max(most_, point.end);
      }
    }
    const int64_t first = points.points.front().at_ns;
    const int64_t last = points.points.back().at_ns;
    start_ns_ = std::min(first, last);
    bytes_ = byte_unit(most_);
    time_ = time_unit(std::abs(last - first));
  }

  std::string script() {
    bars();
    steps("acknowledged", "#0072B2", false);
    steps("end of the window", "#999999", true);
    for (const Mark& mark : kMarks) marks(mark);
    std::string out = block_ + " << EOD\n" + data_ + "EOD\n";
    const std::string& from = from_a_ ? points_.a : points_.b;
    const std::string& to = from_a_ ? points_.b : points_.a;
    out += fmt::format(
        "set title {} noenhanced\n",
        gnuplot_literal(from + " -> " + to +
                        (points_.thinned ? " (only a part of the segments is drawn)" : "")));
    out += fmt::format("set xlabel 'time ({})'.\"\\n \"\n", time_.name);
    out += fmt::format("set ylabel 'sequence number, {}'\n", bytes_.name);
    out += fmt::format("set yrange [{:.10g}:{:.10g}]\n", -0.03 * scaled(most_),
                       1.12 * std::max(scaled(most_), 1.0));
    return out + "plot \\\n" + join(commands_, ", \\\n") + "\n";
  }

 private:
  double scaled(int64_t bytes) const { return static_cast<double>(bytes) / bytes_.size; }
  double when(const TracePoint& point) const {
    return static_cast<double>(point.at_ns - start_ns_) / time_.size;
  }
  // Adds the rows as the next block of data, when there are any.
  void add(const std::string& rows, const std::string& style) {
    if (rows.empty()) return;
    if (!commands_.empty()) data_ += "\n\n";
    commands_.push_back(fmt::format("  {} index {} {}", block_, commands_.size(), style));
    data_ += rows;
  }

  void bars() {
    std::string rows;
    for (const TracePoint& point : points_.points) {
      if (point.from_a != from_a_ || point.end <= point.begin) continue;
      rows += fmt::format("{:.10g} {:.10g} {:.10g}\n", when(point), scaled(point.begin),
                          scaled(point.end - point.begin));
    }
    add(rows, "using 1:2:(0):3 with vectors nohead lw 2 lc rgb '#000000' title 'data'");
  }

  void steps(const char* label, const char* colour, bool window) {
    std::string rows;
    for (const TracePoint& point : points_.points) {
      if (point.from_a == from_a_ || !point.has_ack) continue;
      rows += fmt::format("{:.10g} {:.10g}\n", when(point),
                          scaled(window ? point.window_end : point.ack));
    }
    add(rows, fmt::format("using 1:2 with steps lw 1.5 lc rgb '{}' title '{}'", colour, label));
  }

  void marks(const Mark& mark) {
    std::string rows;
    for (const TracePoint& point : points_.points) {
      if (point.kind != mark.kind || (point.from_a == from_a_) == mark.by_receiver) continue;
      rows += fmt::format("{:.10g} {:.10g}\n", when(point),
                          scaled(mark.by_receiver ? point.ack : point.end));
    }
    add(rows, fmt::format("using 1:2 with points pt {} ps 1.1 lc rgb '{}' title '{}'", mark.symbol,
                          mark.colour, mark.label));
  }

  const TracePoints& points_;
  bool from_a_;
  std::string block_, data_;
  std::vector<std::string> commands_;
  int64_t most_ = 0, start_ns_ = 0;
  Unit bytes_{}, time_{};
};

int64_t bytes_of(const TracePoints& points, bool from_a) {
  int64_t most = 0;
  for (const TracePoint& point : points.points) {
    if (point.from_a == from_a) most = std::max(most, point.end);
  }
  return most;
}

std::vector<bool> directions_of(const TracePoints& points) {
  const auto a = static_cast<double>(bytes_of(points, true));
  const auto b = static_cast<double>(bytes_of(points, false));
  std::vector<bool> directions;
  if (a >= kNoteworthy * b) directions.push_back(true);
  if (b >= kNoteworthy * a && b > 0) directions.push_back(false);
  return directions;
}

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() > ending.size() && text.ends_with(ending);
}

}  // namespace

std::string trace_plot_script(const TracePoints& points, const std::string& output) {
  if (points.points.empty()) return {};
  const std::vector<bool> directions = directions_of(points);
  const char* terminal = ends_with(output, ".png") ? "pngcairo" : "svg";
  std::string name;
  for (const char c : output) name += c == '\'' ? std::string("''") : std::string(1, c);
  std::string out = fmt::format(
      "set encoding utf8\nset terminal {} size 1000,{} font 'DejaVu Sans,11' noenhanced background "
      "'#FFFFFF'\nset output '{}'\nset grid back lt 1 lw 0.6 lc rgb '#DDDDDD'\nset border 3\nset "
      "tics nomirror\nset key outside bottom center horizontal Left reverse noenhanced\n",
      terminal, 80 + 540 * directions.size(), name);
  out += fmt::format("set multiplot layout {},1\n", directions.size());
  for (size_t i = 0; i < directions.size(); ++i) {
    out += Panel(points, directions[i], static_cast<int>(i)).script();
  }
  return out + "unset multiplot\nunset output\n";
}

Status write_trace_plot(const TracePoints& points, const std::string& path) {
  const bool png = ends_with(path, ".png");
  if (!png && !ends_with(path, ".svg")) {
    return fail(ErrorCode::kUsage, "plot to " + path, "name a file that ends in .svg or .png");
  }
  if (points.points.empty()) return fail(ErrorCode::kUsage, "the flow has nothing to plot");
  if (const auto reason = no_gnuplot()) {
    return fail(ErrorCode::kUnsupported, "no plot: " + *reason);
  }
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return fail_errno(ErrorCode::kSystem, "make a temporary folder", errno);
  }
  const fs::path picture = folder.path() / (png ? "plot.png" : "plot.svg");
  const fs::path script = folder.path() / "plot.gp";
  std::ofstream(script) << trace_plot_script(points, picture.string());
  const auto drawn = run_command({"gnuplot", script.string()}, Deadline::after_ms(kDrawingMs));
  if (!drawn) return fail(drawn.error());
  std::error_code error;
  const auto size = fs::file_size(picture, error);
  if (error || size == 0) {
    return fail(ErrorCode::kSystem, "gnuplot could not draw the plot: " + clean(drawn->err));
  }
  fs::copy_file(picture, path, fs::copy_options::overwrite_existing, error);
  if (error) {
    return fail_errno(ErrorCode::kConfig, "write " + path, error.value(), "choose another --plot");
  }
  return {};
}

}  // namespace plumbline
