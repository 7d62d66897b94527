// What a run has to tell beside its records: a line on the screen, and an event in events.jsonl of
// its folder, which is there only when something was told, or for a soak. Thread-safe.
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
  // `folder`: of the run; empty = lines only.
  RunNotices(const std::string& folder, std::string run_id, Caller& caller);
  // Begins with an empty file, and counts time from now on.
  Status begin();
  int64_t now() const { return monotonic_ns() - start_ns_; }
  // An event of kind `ranks`.
  void tell(const std::string& text);
  // Run id and wall time are filled in; `aloud`: it is said too.
  void add(SoakEvent event, bool aloud);

 private:
  Status append(const SoakEvent& event);

  const std::string path_, run_id_;
  Caller& caller_;
  int64_t start_ns_ = monotonic_ns();
  std::mutex mutex_;
  std::optional<EventFile> file_;
  bool failed_ = false;  // and it was said
};

}  // namespace plumbline
