// A terminal that shows a picture, again and again, and hands over keys: its other screen (what was
// there before is back afterwards), no cursor, keys without Return and without echo. All of it is
// undone when this goes, when a signal ends the process or an exception does, and while Ctrl-Z
// stops it; only SIGKILL leaves the terminal as it is (`stty sane`). Signals cannot be handed a
// context, so what is to be undone is kept in the file: one screen at a time. Main thread only.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace plumbline {

class LiveScreen {
 public:
  // `out`: standard output, a terminal. Keys come from standard input where it is a terminal too.
  explicit LiveScreen(std::ostream& out);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Lines that are no longer than the terminal is wide, and no more than it is high; `room_below`:
  // they are fewer.
  void show(const std::vector<std::string>& lines, bool room_below);
  // Bytes that were typed within the time; fewer milliseconds when a signal came. Empty: none.
  std::string keys(int timeout_ms);
  // The terminal is gone, or cannot be written to.
  bool gone() const { return gone_; }
  // Since the last call: it was stopped and goes on, on a screen that must be drawn anew.
  static bool resumed();

 private:
  std::ostream& out_;
  bool gone_ = false, typed_on_ = false;
};

}  // namespace plumbline
