#include "core/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <mutex>
#include <utility>

#include "core/lower_case.h"
#include "core/printable.h"

namespace plumbline {
namespace {

constexpr std::array<const char*, 7> kNames = {"trace", "debug", "info", "warn",
                                               "error", "fatal", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level));
}

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

namespace {

class FunctionSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(const std::string&)> out) : out_(std::move(out)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string line(text.data(), text.size());
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    out_(line);
  }
  void flush_() override {}

 private:
  std::function<void(const std::string&)> out_;
};

std::shared_ptr<spdlog::sinks::sink> sink_for(std::function<void(const std::string&)> out) {
  if (out) return std::make_shared<FunctionSink>(std::move(out));
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

}  // namespace

struct Logger::Impl {
  spdlog::logger sink;
};

Logger::Logger(std::string who, LogLevel level, std::function<void(const std::string&)> out)
    : level_(level),
      impl_(
          std::make_unique<Impl>(Impl{spdlog::logger(std::move(who), sink_for(std::move(out)))})) {
  impl_->sink.set_pattern("[plumbline %l %H:%M:%S.%e %n] %v");
  impl_->sink.set_level(to_spdlog(level));
  impl_->sink.flush_on(spdlog::level::trace);
}

Logger::~Logger() = default;

void Logger::log(LogLevel level, std::string_view text) const {
  if (enabled(level)) impl_->sink.log(to_spdlog(level), "{}", printable(text));
}

}  // namespace plumbline
