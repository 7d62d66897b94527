// Something that changed on a host while a soak ran: a link, a route, a counter, a temperature; or
// something that a soak or a run itself has to tell (a late round, a cell that ended in error,
// ranks that were started again). One JSON object a line of events.jsonl, which lies beside
// records.jsonl: a line of that file is a record and nothing else. docs/soak.md describes every
// field. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/fd.h"
#include "core/field.h"

namespace plumbline {

struct SoakEvent {
  std::string run_id, time;  // time: RFC 3339 UTC, when it was seen
  int64_t at_ns = 0;         // the same since the start of the soak
  int64_t round = 0;         // that ran, or had run last
  std::string host;          // empty = the coordinator
  std::string kind;          // see the table in event.cc
  std::string subject;       // "en1", "tcp.retransmitted" ...
  std::string text;          // "en1 speed 10000 -> 1000 Mb/s"
};

inline constexpr const char* kEventsFile = "events.jsonl";  // in the folder of a run

std::string to_line(const SoakEvent& event);  // without the newline
Expected<SoakEvent> event_from_line(std::string_view line);

// Appends one line at a time, each one write(2). Opening empties an older file, unless it is kept.
// Thread-safe.
class EventFile {
 public:
  // `keep`: what is there stays, and new lines follow it.
  static Expected<EventFile> open(const std::string& path, bool keep = false);
  EventFile(EventFile&& other) noexcept : fd_(std::move(other.fd_)), path_(other.path_) {}
  Status append(const SoakEvent& event);

 private:
  EventFile() = default;
  std::mutex mutex_;
  Fd fd_;
  std::string path_;
};

// One event at a time; memory does not grow with the file. A torn last line is left out; any other
// bad line is an Error that names it.
Status for_each_event(const std::string& path, const std::function<void(SoakEvent)>& take);

PLUMBLINE_FIELDS(SoakEvent);

}  // namespace plumbline
