#include "core/log.h"

#include <array>
#include <utility>

#include "core/text.h"

namespace plumbline {
namespace {

constexpr std::array<const char*, 7> kNames = {"trace", "debug", "info", "warn",
                                               "error", "fatal", "off"};

}  // namespace

bool log_level_from(std::string_view text, LogLevel& level) {
  const std::string lower = lower_case(text);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (lower == kNames[i] || lower == std::to_string(i)) {
      level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

Logger::Logger(std::string who, LogLevel level, LogSink sink)
    : who_(std::move(who)), level_(sink ? level : LogLevel::kOff), sink_(std::move(sink)) {}

void Logger::log(LogLevel level, std::string_view text) const {
  if (enabled(level)) sink_(level, who_, printable(text));
}

}  // namespace plumbline
