#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>
#include <mutex>
#include <utility>

#include "core/log.h"

namespace plumbline {
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

LogSink log_lines(std::function<void(const std::string& line)> out) {
  const std::shared_ptr<spdlog::sinks::sink> sink = sink_for(std::move(out));
  sink->set_pattern("[plumbline %l %H:%M:%S.%e %n] %v");
  return [sink](LogLevel level, const std::string& who, std::string_view text) {
    const auto theirs = static_cast<spdlog::level::level_enum>(static_cast<int>(level));
    sink->log({who, theirs, spdlog::string_view_t(text.data(), text.size())});
  };
}

}  // namespace plumbline
