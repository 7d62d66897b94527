#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/live_table.h"
#include "core/units.h"
#include "reports/text.h"

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

}  // namespace plumbline
