// What docs/ says of the lines of records.jsonl and events.jsonl, from the tables of fields that
// the program writes and reads them by (core/field.h): JSON Schema (draft-07) and Markdown tables,
// so that neither can say something else than the program. Pure.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>

#include "core/field_json.h"
#include "core/record/event.h"
#include "core/record/record.h"

namespace plumbline {

// The fields of these, in the order of their tables.
template <typename... Owners>
std::span<const FieldRow> fields_of() {
  static const FieldRows kRows = [] {
    FieldRows rows;
    (add_rows<Owners>("", rows), ...);
    return rows;
  }();
  return kRows.all();
}
inline std::span<const FieldRow> record_fields() { return fields_of<Record, Measurement>(); }
inline std::span<const FieldRow> environment_line_fields() { return fields_of<EnvironmentLine>(); }
inline std::span<const FieldRow> event_fields() { return fields_of<SoakEvent>(); }

inline std::string fields_markdown(std::span<const FieldRow> rows) {
  std::string text = "| field | type | unit | meaning |\n|---|---|---|---|\n";
  for (const FieldRow& row : rows) {
    const bool may_lack = row.optional && *row.absent != '\0';
    text += fmt::format("| `{}` | {}{} | {} | {}{} |\n", row.path, row.type,
                        row.nullable ? " or null" : "", row.unit, row.help,
                        may_lack ? fmt::format("; left out where it is `{}`", row.absent) : "");
  }
  return text;
}

// The schema of both kinds of lines of a file of records.
inline std::string record_schema_json() {
  using nlohmann::json;
  json record = json::parse(schema_json(record_fields(), "a record"));
  json line =
      json::parse(schema_json(environment_line_fields(), "the environment of records below"));
  for (json* kind : {&record, &line}) kind->erase("$schema");
  const json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "plumbline record, schema 2: one line of records.jsonl"},
      // By what it must have: then what is wrong with a line is told of the right kind.
      {"if", {{"required", {"hash"}}}},
      {"then", std::move(line)},
      {"else", std::move(record)}};
  return json_text(schema);
}

inline std::string record_reference_markdown() {
  return fields_markdown(record_fields()) + "\nThe line of an environment:\n\n" +
         fields_markdown(environment_line_fields());
}

inline std::string event_schema_json() {
  return schema_json(event_fields(), "plumbline event, schema 1: one line of events.jsonl");
}

}  // namespace plumbline
