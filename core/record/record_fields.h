// The fields of records and events as rows: from them come docs/record.schema.json (JSON Schema
// draft-07) and the reference in docs/record_format.md, so that neither can say something else than
// the program. Made from the tables of core/record/record_tables.h. Pure.
#pragma once

#include <span>
#include <string>

#include "core/field_rows.h"

namespace plumbline {

// Of a record, and of the line of an environment.
std::span<const FieldRow> record_fields();
std::span<const FieldRow> environment_line_fields();
// The schema of both kinds of lines as text with a newline at the end.
std::string record_schema_json();
// A Markdown table of all fields of both.
std::string record_reference_markdown();
// The same for the lines of events.jsonl (core/record/event.h).
std::span<const FieldRow> event_fields();
std::string event_schema_json();
std::string event_reference_markdown();

}  // namespace plumbline
