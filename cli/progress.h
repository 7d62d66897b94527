// What a live run shows on standard error. On a terminal: the probes' one line, then a table that
// gets a row with every finished cell, in columns of fixed width so that it can grow line by line,
// and below it one line that is rewritten, with a bar and the time left. Elsewhere: a plain line
// per cell that went wrong and one about every ten seconds. Warnings of ranks and of the
// coordinator come in between, on lines of their own. Progress is thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <ostream>
#include <string>

#include "cli/args.h"
#include "cli/plain_caller.h"
#include "core/record/record.h"
#include "reports/text.h"
#include "scenarios/runner.h"

namespace plumbline {

class Progress {
 public:
  // `width` tells the columns of the terminal, anew for every line; 0 = unlimited.
  Progress(std::ostream& err, bool terminal, std::function<int()> width, bool colour)
      : err_(err), terminal_(terminal), width_(std::move(width)), colour_(colour) {}
  void show(const RunProgress& progress);
  // A line of somebody else's, cleaned: the rewritten line makes room for it and comes back below.
  void line(const std::string& text);
  // Takes the rewritten line away: what comes next begins at the start of an empty line.
  void finish();

 private:
  void show_plain(const RunProgress& progress, const std::string& counts);

  std::ostream& err_;
  bool terminal_;
  std::function<int()> width_;
  bool colour_;
  std::mutex mutex_;    // of what follows, and of err_
  std::string bar_;     // the rewritten line, as it stands there; empty = none does
  std::string header_;  // the last one shown
  double last_plain_s_ = 0;
};

// The rows that a live run shows: one per finished cell. A narrow terminal gets fewer columns.
// No wider than `width` columns (0 = unlimited), without newline.
std::string live_header(int width);
std::string live_row(const Record& record, int width, bool colour);

// One line on standard error that says what is going on, written over again and again; nothing
// where standard error is no terminal.
class StatusLine {
 public:
  StatusLine(std::ostream& out, bool terminal, int width)
      : out_(out), terminal_(terminal), width_(width > 0 ? width : 80) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const std::string& text) {
    if (!terminal_) return;
    shown_ = true;
    const std::string line = fit(clean(text), static_cast<size_t>(width_ - 1), true);
    out_ << "\r\x1b[K" << line.substr(0, line.find_last_not_of(' ') + 1) << std::flush;
  }
  void clear() {
    if (shown_) out_ << "\r\x1b[K" << std::flush;
    shown_ = false;
  }

 private:
  std::ostream& out_;
  bool terminal_;
  int width_;
  bool shown_ = false;
};

// A run as its user sees it while it goes: lines, the probes' one line, then cells with a bar.
class RunScreen : public Caller {
 public:
  // `quiet`: lines only.
  RunScreen(Context& context, bool quiet);
  void say(const std::string& line) override;
  void progress(const RunProgress& state) override;
  Wish ask() override { return wish_of_signals(); }

 private:
  const bool quiet_;
  StatusLine probing_;
  Progress cells_;
};

}  // namespace plumbline
