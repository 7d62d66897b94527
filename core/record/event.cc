#include "core/record/event.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "core/field_json.h"
#include "core/file.h"
#include "core/line_reader.h"
#include "core/record/record.h"
#include "core/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kEventSchema = 1;

// The only field that is no member.
constexpr Field<SoakEvent> event_schema_field() {
  Field<SoakEvent> row =
      field<&SoakEvent::round>({"schema", "", "version of this format: 1"}).derived();
  row.write = [](const SoakEvent&, json& out) { out = kEventSchema; };
  return row;
}

constexpr Field<SoakEvent> kEventFields[] = {
    event_schema_field(),
    field<&SoakEvent::run_id>({"run_id", "", "of the run, as in its records"}),
    field<&SoakEvent::time>({"time", "", "when it was seen, RFC 3339 UTC"}),
    field<&SoakEvent::at_ns>(
        {"at_ns", "ns", "the same since the start of the soak, or of the run"}),
    field<&SoakEvent::round>(
        {"round", "", "the round that ran, or had run last; 0 = before the first, or no soak"}),
    field<&SoakEvent::host>({"host", "", "where; empty = the coordinator"}),
    field<&SoakEvent::kind>(
        {"kind", "",
         "`link`, `address`, `route`, `counter`, `temperature`, `cpu`, `host` (cannot be "
         "observed), `round` (late, no idle time left), `cell` (ended in error), `ranks` (started "
         "again)"}),
    field<&SoakEvent::subject>(
        {"subject", "", "what changed: interface, peer, counter, sensor, cell"}),
    field<&SoakEvent::text>({"text", "", "the change in words, without the host"}),
};

}  // namespace

std::span<const Field<SoakEvent>> FieldsOf<SoakEvent>::all() { return kEventFields; }

std::string to_line(const SoakEvent& event) {
  json object;
  write_fields(event, object);
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
    read_fields(object, event);
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
  return write_whole(fd_, line, "append to " + path_, "free some space");
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
