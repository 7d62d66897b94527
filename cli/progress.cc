#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace plumbline {
namespace {

constexpr double kPlainEveryS = 10;
constexpr int kBarColumns = 20;

std::string seconds(double s) {
  const auto whole = int64_t{std::lround(s)};
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

std::string cell_text(const Record& record) {
  const Cell& cell = record.cell;
  const std::string& how = cell.measure.empty() ? cell.algorithm : cell.measure;
  std::string text = fmt::format("{} {} {} ranks", cell.op, how, cell.ranks);
  if (cell.bytes > 0) text += " " + format_bytes(cell.bytes);
  if (record.time_ns.p50) text += " " + format_duration(*record.time_ns.p50);
  return text;
}

}  // namespace

void Progress::show(const RunProgress& progress) {
  const bool bad =
      progress.last != nullptr && (progress.last->measurement.outcome == Outcome::kError ||
                                   progress.last->measurement.outcome == Outcome::kFailed);
  if (bad) {
    finish();
    err_ << fmt::format("{}: {}: {}\n", to_string(progress.last->measurement.outcome),
                        cell_text(*progress.last), progress.last->measurement.reason);
  }
  const std::string left = progress.done < progress.total && progress.eta_s > 0
                               ? ", about " + seconds(progress.eta_s) + " left"
                               : "";
  std::string counts = fmt::format("{}/{}{}", progress.done, progress.total, left);
  const bool soak = !progress.phase.empty();
  if (soak) {
    counts = progress.phase;
    if (progress.total > 0) counts += fmt::format(", cell {}/{}", progress.done, progress.total);
  }
  if (!terminal_) {
    if ((soak || progress.done < progress.total) &&
        progress.elapsed_s - last_plain_s_ < kPlainEveryS)
      return;
    last_plain_s_ = progress.elapsed_s;
    err_ << "plumbline: " << counts << "\n" << std::flush;
    return;
  }
  const auto total = std::max<size_t>(progress.total, 1);
  const auto filled = static_cast<int>(progress.done * kBarColumns / total);
  std::string line = fmt::format("[{:<{}}] {}", std::string(static_cast<size_t>(filled), '#'),
                                 kBarColumns, counts);
  if (progress.last != nullptr) line += "  " + cell_text(*progress.last);
  if (width_ > 0 && static_cast<int>(line.size()) >= width_) {
    line.resize(static_cast<size_t>(width_ - 1));
  }
  err_ << "\r\033[K" << line << std::flush;
  open_line_ = true;
}

void Progress::finish() {
  if (open_line_) err_ << "\r\033[K" << std::flush;
  open_line_ = false;
}

}  // namespace plumbline
