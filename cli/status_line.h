// One line on standard error that says what is going on, written over again and again; nothing
// where standard error is no terminal.
#pragma once

#include <ostream>
#include <string>

#include "reports/text.h"

namespace plumbline {

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

}  // namespace plumbline
