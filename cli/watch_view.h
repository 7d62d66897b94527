// The picture of `plumbline watch`: hosts and links as a table that fits the terminal, sorted and
// scrolled as the user wants it, with what has changed below. Pure: values in, lines out. Names and
// texts of other machines come out cleaned.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "probes/gather/host_watcher.h"

namespace plumbline {

enum class WatchSort { kHost, kIn, kOut, kRetransmitted, kDrops, kErrors };
const char* to_string(WatchSort sort);
WatchSort next_sort(WatchSort sort);

struct WatchEvent {
  std::string time;  // "14:03:22"
  std::string text;  // "node2: eth0 lost its signal"
};

struct WatchView {
  int width = 80, height = 24;  // of the terminal; no line is wider, there are no more lines
  bool colour = false;
  WatchSort sort = WatchSort::kHost;
  bool reverse = false, paused = false;
  size_t first = 0;               // row at the top
  std::string time;               // "14:03:22", of the picture
  std::deque<WatchEvent> events;  // the newest last
};
// At most so many events are worth keeping.
inline constexpr size_t kMostWatchEvents = 100;

// Also takes view.first back to the last row where it lies behind it.
std::vector<std::string> watch_lines(const std::vector<LiveHost>& hosts, WatchView& view);

// "0", "12", "1.2k", "35M": at most four characters, for counts per second; below 1 "<1".
std::string short_count(double value);
// "0", "950", "1.25k", "117M": three digits, at most five characters.
std::string short_rate(double value);

enum class WatchKey { kNone, kQuit, kPause, kSort, kReverse, kUp, kDown, kPageUp, kPageDown };
// What the bytes of a keyboard mean, one at a time: a cursor key is several.
class WatchKeys {
 public:
  WatchKey take(char byte);

 private:
  enum class State { kPlain, kEscape, kSequence } state_ = State::kPlain;
  char digit_ = 0;
};

}  // namespace plumbline
