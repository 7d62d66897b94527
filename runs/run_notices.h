// What a run has to tell beside its records: a line on the screen, and an event in events.jsonl of
// its folder, which is there only when something was told (or when a soak writes it). Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/record/event.h"
#include "runs/caller.h"

namespace plumbline {

class RunNotices {
 public:
  RunNotices(std::string path, std::string run_id, Caller& caller)
      : path_(std::move(path)), run_id_(std::move(run_id)), caller_(caller) {}
  // An event of kind `ranks`.
  void tell(const std::string& text);

 private:
  const std::string path_, run_id_;
  Caller& caller_;
  const int64_t start_ns_ = monotonic_ns();
  std::mutex mutex_;
  std::optional<EventFile> file_;
};

}  // namespace plumbline
