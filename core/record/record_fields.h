// The fields of a record as a table: from it come docs/record.schema.json (JSON Schema draft-07)
// and the reference in docs/record_format.md, so that neither can say something else than the
// program. Pure.
#pragma once

#include <span>
#include <string>

namespace plumbline {

struct FieldRow {
  const char* path;  // "time_ns.p50"; "[]" = each element of a list, "*" = any key of an object
  const char*
      type;  // JSON Schema type: "string", "integer", "number", "boolean", "object", "array"
  bool nullable;
  const char* unit;  // "ns", "bytes", "bytes/s", "elements", "" ...
  const char* help;
  bool optional = false;      // only in records that have such a thing; others do without the key
  const char* limits = "{}";  // further keywords of JSON Schema, as JSON: {"minimum":0}
};

// The schema of any such table as text with a newline at the end: every field that is not optional
// is required, none may stand beside them; and its Markdown table.
std::string schema_json(std::span<const FieldRow> rows, const std::string& title);
std::string fields_markdown(std::span<const FieldRow> rows);

std::span<const FieldRow> record_fields();
// The schema as text with a newline at the end; every field required, none beside them.
std::string record_schema_json();
// A Markdown table of all fields.
std::string record_reference_markdown();
// The same for the lines of events.jsonl (core/record/event.h).
std::span<const FieldRow> event_fields();
std::string event_schema_json();
std::string event_reference_markdown();

}  // namespace plumbline
