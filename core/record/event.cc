#include "core/record/event.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "core/json.h"
#include "core/json_trouble.h"
#include "core/line_reader.h"
#include "core/printable.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kEventSchema = 1;

}  // namespace

std::string to_line(const SoakEvent& event) {
  const json object = {{"schema", kEventSchema}, {"run_id", event.run_id},   {"time", event.time},
                       {"at_ns", event.at_ns},   {"round", event.round},     {"host", event.host},
                       {"kind", event.kind},     {"subject", event.subject}, {"text", event.text}};
  return printable_json(object.dump(-1, ' ', false, json::error_handler_t::replace));
}

Expected<SoakEvent> event_from_line(std::string_view line) {
  try {
    const json object = json::parse(line);
    if (const int schema = object.at("schema").get<int>(); schema != kEventSchema) {
      return fail(ErrorCode::kConfig,
                  fmt::format("event has schema {}, this program reads {}", schema, kEventSchema),
                  "use the version of plumbline that wrote it");
    }
    SoakEvent event;
    get_field(object, "run_id", event.run_id);
    get_field(object, "time", event.time);
    get_field(object, "at_ns", event.at_ns);
    get_field(object, "round", event.round);
    get_field(object, "host", event.host);
    get_field(object, "kind", event.kind);
    get_field(object, "subject", event.subject);
    get_field(object, "text", event.text);
    return event;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kConfig, "not an event: " + json_trouble(error));
  }
}

Expected<EventFile> EventFile::open(const std::string& path, bool keep) {
  EventFile file;
  file.path_ = path;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (keep ? 0 : O_TRUNC);
  file.fd_.reset(::open(path.c_str(), flags, 0644));
  if (!file.fd_.valid()) {
    return fail_errno(ErrorCode::kConfig, "open event file " + path, errno,
                      "choose a writable folder with --out");
  }
  return file;
}

Status EventFile::append(const SoakEvent& event) {
  const std::string line = to_line(event) + '\n';
  const std::scoped_lock lock(mutex_);
  for (size_t written = 0; written < line.size();) {
    const ssize_t n = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail_errno(ErrorCode::kSystem, "append to " + path_, errno, "free some space");
    }
    written += static_cast<size_t>(n);
  }
  return {};
}

Status for_each_event(const std::string& path, const std::function<void(SoakEvent)>& take) {
  constexpr size_t kLongestLine = 1 << 20;  // bytes
  Expected<LineReader> reader = LineReader::open(path, kLongestLine);
  if (!reader) return fail(reader.error());
  for (TextLine line;;) {
    const Expected<bool> more = reader->next(line);
    if (!more) return fail(more.error());
    if (!*more || !line.ended) return {};  // an end without a newline is torn
    if (line.bytes == 0) continue;
    Expected<SoakEvent> event = event_from_line(line.text);
    if (!event) {
      Error error = event.error();
      error.what = fmt::format("{}:{}: {}", path, line.number, error.what);
      return fail(std::move(error));
    }
    take(std::move(*event));
  }
}

}  // namespace plumbline
