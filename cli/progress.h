// What a live run shows on standard error: on a terminal one line that is rewritten, with a bar and
// the time left; elsewhere a plain line per cell that went wrong and one about every ten seconds.
#pragma once

#include <ostream>

#include "scenarios/runner.h"

namespace plumbline {

class Progress {
 public:
  Progress(std::ostream& err, bool terminal, int width)
      : err_(err), terminal_(terminal), width_(width) {}
  void show(const RunProgress& progress);
  // Ends the rewritten line.
  void finish();

 private:
  std::ostream& err_;
  bool terminal_;
  int width_;
  bool open_line_ = false;
  double last_plain_s_ = 0;
};

}  // namespace plumbline
