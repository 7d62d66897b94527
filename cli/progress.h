// What a live run shows on standard error. On a terminal: a table that gets a row with every
// finished cell, and below it one line that is rewritten, with a bar and the time left. Elsewhere:
// a plain line per cell that went wrong and one about every ten seconds. Warnings of ranks and of
// the coordinator come in between, on lines of their own. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <ostream>
#include <string>

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

}  // namespace plumbline
