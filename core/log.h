// Logging, handed down, never global: a Logger hands lines of its level and above to a function,
// from any thread. What becomes of them there is that function's affair; log_lines() makes the one
// that writes them to standard error. Level names as in the LOG_LEVEL option.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plumbline/types.h"

namespace plumbline {

// "warn", "WARN" or "3"; false when it is none.
bool log_level_from(std::string_view text, LogLevel& level);

// Gets one line at a time, from several threads at once too. `who` said it: "rank 1".
using LogSink = std::function<void(LogLevel level, const std::string& who, std::string_view text)>;

class Logger {
 public:
  // Without a sink nothing is said.
  Logger(std::string who, LogLevel level, LogSink sink);
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  bool enabled(LogLevel level) const { return level >= level_ && level_ != LogLevel::kOff; }
  void log(LogLevel level, std::string_view text) const;
  void debug(std::string_view text) const { log(LogLevel::kDebug, text); }
  void info(std::string_view text) const { log(LogLevel::kInfo, text); }
  void warn(std::string_view text) const { log(LogLevel::kWarn, text); }
  void error(std::string_view text) const { log(LogLevel::kError, text); }

 private:
  const std::string who_;
  const LogLevel level_;
  const LogSink sink_;
};

// ---- what is logged, as lines "[plumbline LEVEL time who] text" ----

// For a Logger. `out` gets each line, without its newline and from whatever thread, in place of
// standard error (so that standard output stays machine-readable); empty = none does.
LogSink log_lines(std::function<void(const std::string& line)> out = nullptr);

}  // namespace plumbline
