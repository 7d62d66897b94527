// What a run has to tell beside its records: a line on the screen, and an event in events.jsonl of
// its folder, which is there only when something was told (or when a soak writes it). Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/record/event.h"

namespace plumbline {

class RunNotices {
 public:
  using Say = std::function<void(const std::string& line)>;

  RunNotices(std::string path, std::string run_id, Say say)
      : path_(std::move(path)), run_id_(std::move(run_id)), say_(std::move(say)) {}
  // An event of kind `ranks`.
  void tell(const std::string& text);

 private:
  const std::string path_, run_id_;
  const Say say_;
  const int64_t start_ns_ = monotonic_ns();
  std::mutex mutex_;
  std::optional<EventFile> file_;
};

}  // namespace plumbline
