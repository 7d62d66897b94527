// Logging, handed down, never global: a Logger writes lines "[plumbline LEVEL time rank] text" to
// standard error (so that standard output stays machine-readable) from any thread. Level names as
// in the LOG_LEVEL option. Formatting happens only when the level is on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace plumbline {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kFatal, kOff };
// "warn", "WARN" or "3"; false when it is none.
bool log_level_from(std::string_view text, LogLevel& level);

class Logger {
 public:
  // `who` stands in every line: "rank 1", "coordinator". `out` gets each line, without its newline
  // and from whatever thread, in place of standard error; empty = none does.
  Logger(std::string who, LogLevel level,
         std::function<void(const std::string& line)> out = nullptr);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  bool enabled(LogLevel level) const { return level >= level_ && level_ != LogLevel::kOff; }
  void log(LogLevel level, std::string_view text) const;
  void debug(std::string_view text) const { log(LogLevel::kDebug, text); }
  void info(std::string_view text) const { log(LogLevel::kInfo, text); }
  void warn(std::string_view text) const { log(LogLevel::kWarn, text); }
  void error(std::string_view text) const { log(LogLevel::kError, text); }

 private:
  struct Impl;
  LogLevel level_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumbline
