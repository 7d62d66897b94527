#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal.h"
#include "core/units.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr double kPlainEveryS = 10;
constexpr int kBarColumns = 20, kNarrowBarColumns = 10;
constexpr int kNarrow = 60;  // columns
// To the end of the line: the new text is written over the old, and only then what is left of the
// old goes, so that nothing flickers.
constexpr const char* kClearRest = "\033[K";

std::string seconds(double s) {
  const auto whole = int64_t{std::lround(s)};
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string cell_text(const Cell& cell) {
  if (cell.kind == CellKind::kEndpoint) {
    return fmt::format("{} {} {}, {} at once", cell.op, cell.api, cell.answer, cell.outstanding);
  }
  const std::string& how = cell.measure.empty() ? cell.algorithm : cell.measure;
  std::string text = fmt::format("{} {} {} ranks", cell.op, how, cell.ranks);
  if (cell.bytes > 0) text += " " + format_bytes(cell.bytes);
  return text;
}

std::string cell_text(const Record& record) {
  std::string text = cell_text(record.cell);
  if (record.time_ns.p50) text += " " + format_duration(*record.time_ns.p50);
  return text;
}

bool is_bad(const Record& record) {
  return record.measurement.outcome == Outcome::kError ||
         record.measurement.outcome == Outcome::kFailed;
}

std::string progress_counts(const RunProgress& progress) {
  if (!progress.phase.empty()) {
    return progress.total > 0
               ? fmt::format("{}, cell {}/{}", progress.phase, progress.done, progress.total)
               : progress.phase;
  }
  const bool known = progress.done < progress.total && progress.eta_s > 0;
  return fmt::format("{}/{}{}", progress.done, progress.total,
                     known ? ", about " + seconds(progress.eta_s) + " left" : "");
}

std::string bar_line(const RunProgress& progress, const std::string& counts, int width) {
  const auto total = std::max<size_t>(progress.total, 1);
  const int columns = width > 0 && width < kNarrow ? kNarrowBarColumns : kBarColumns;
  const auto filled =
      std::min(progress.done * static_cast<size_t>(columns) / total, static_cast<size_t>(columns));
  std::string line = fmt::format("[{:<{}}] {}", std::string(filled, '#'), columns, counts);
  if (progress.current != nullptr) line += "  " + clean(cell_text(progress.current->cell));
  // The last column stays free: some terminals go on to the next line there.
  const auto room = static_cast<size_t>(std::max(1, width - 1));
  return width > 0 && display_width(line) > room ? fit(line, room, true) : line;
}

std::string time_text(const Record& record) {
  return record.time_ns.p50 ? format_duration(*record.time_ns.p50) : "-";
}

std::string rate_text(const Record& record) {
  if (record.busbw_Bps) return format_rate(*record.busbw_Bps);
  std::optional<double> slowest;
  for (const LinkResult& link : record.measurement.links) {
    if (link.rate_Bps) slowest = std::min(slowest.value_or(*link.rate_Bps), *link.rate_Bps);
  }
  return slowest ? format_rate(*slowest) : "-";
}

std::string how_text(const Record& record) {
  const Cell& cell = record.cell;
  if (!cell.measure.empty()) return cell.measure;
  const std::string& chosen = record.measurement.resolved.algorithm;
  return chosen.empty() || chosen == cell.algorithm ? cell.algorithm
                                                    : cell.algorithm + kChosen + chosen;
}

std::string type_text(const Record& record) {
  const Cell& cell = record.cell;
  return cell.redop == "none" || cell.redop.empty() ? cell.dtype : cell.dtype + " " + cell.redop;
}

struct ColumnRow {
  const char* name;
  int width, least;  // as columns_for() wants them
  bool left;
  int priority;
  std::string (*text)(const Record& record);
};
const ColumnRow kLiveColumns[] = {
    {"kind", 10, 10, true, 4, [](const Record& r) { return std::string(to_string(r.cell.kind)); }},
    {"op", 14, 14, true, 0, [](const Record& r) { return r.cell.op; }},
    {"algorithm", 25, 12, true, 3, how_text},
    {"ranks", 5, 5, false, 2, [](const Record& r) { return std::to_string(r.cell.ranks); }},
    {"size", 8, 8, false, 0, [](const Record& r) { return format_bytes(r.cell.bytes); }},
    {"type", 9, 9, true, 6, type_text},
    {"place", 5, 5, true, 7, [](const Record& r) { return r.cell.placement; }},
    {"time", 8, 8, false, 0, time_text},
    {"busbw", 10, 10, false, 1, rate_text},
    {"verdict", 7, 7, true, 0,
     [](const Record& r) { return std::string(to_string(verdict_of(r))); }},
    {"noise", 30, 8, true, 5, [](const Record& r) { return join(r.noise.causes, ", "); }},
};
template <typename Text>
std::string line_of(int width, Text text) {
  return column_line(std::span<const ColumnRow>(kLiveColumns), width, text);
}

Tone tone_of_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kClean:
    case Verdict::kSkipped:
      return Tone::kPlain;
    case Verdict::kNoisy:
      return Tone::kWarn;
    default:
      return Tone::kBad;
  }
}

}  // namespace

void Progress::show_plain(const RunProgress& progress, const std::string& counts) {
  const bool soak = !progress.phase.empty();
  if ((soak || progress.done < progress.total) && progress.elapsed_s - last_plain_s_ < kPlainEveryS)
    return;
  last_plain_s_ = progress.elapsed_s;
  err_ << "plumbline: " << counts << "\n" << std::flush;
}

void Progress::line(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (bar_.empty()) {
    err_ << clean(text) << "\n" << std::flush;
  } else {
    err_ << "\r" + clean(text) + kClearRest + "\n" + bar_ + kClearRest << std::flush;
  }
}

void Progress::show(const RunProgress& progress) {
  const std::scoped_lock lock(mutex_);
  const Record* last = progress.last;
  const bool bad = last != nullptr && is_bad(*last);
  const std::string reason =
      bad ? clean(fmt::format("{}: {}: {}", to_string(last->measurement.outcome), cell_text(*last),
                              last->measurement.reason))
          : "";
  const std::string counts = clean(progress_counts(progress));
  if (!terminal_) {
    if (bad) err_ << reason << "\n";
    return show_plain(progress, counts);
  }
  const int width = width_();
  std::string text = "\r";
  // A soak would fill the screen for hours with the same cells: its reports have the rounds.
  if (last != nullptr && progress.phase.empty()) {
    const int room = width > 0 ? width - 1 : 0;
    const std::string header = live_header(room);
    if (header != header_) text += header + kClearRest + "\n";
    header_ = header;
    text += live_row(*last, room, colour_) + kClearRest + "\n";
  }
  if (bad) text += reason + kClearRest + "\n";
  bar_ = bar_line(progress, counts, width);
  err_ << text + bar_ + kClearRest << std::flush;
}

void Progress::finish() {
  const std::scoped_lock lock(mutex_);
  if (!bar_.empty()) err_ << std::string("\r") + kClearRest << std::flush;
  bar_.clear();
}

std::string live_header(int width) {
  return line_of(width, [](const ColumnRow& row) { return std::string(row.name); });
}

std::string live_row(const Record& record, int width, bool colour) {
  const std::string line =
      line_of(width, [&record](const ColumnRow& row) { return row.text(record); });
  return toned(line, tone_of_verdict(verdict_of(record)), colour);
}

RunScreen::RunScreen(Context& context, bool quiet)
    : quiet_(quiet),
      probing_(*context.err, context.err_is_terminal && !quiet, context.width),
      cells_(
          *context.err, context.err_is_terminal, [] { return terminal_width(STDERR_FILENO); },
          context.colour) {}

void RunScreen::say(const std::string& line) {
  probing_.clear();
  cells_.line(line);
}

void RunScreen::progress(const RunProgress& state) {
  if (!state.probing.empty()) return probing_.show(state.probing);
  if (state.ranks != nullptr) return;
  probing_.clear();
  if (state.over) {
    cells_.finish();
  } else if (!quiet_) {
    cells_.show(state);
  }
}

}  // namespace plumbline
