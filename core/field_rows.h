// Fields of JSON documents as rows, for people and for JSON Schema (draft-07): of records, events,
// submitted results. Those of structs come from their tables (core/field.h). Pure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plumbline {

struct FieldRow {
  const char* path;  // "time_ns.p50"; "[]" = each element of a list, "*" = any key of an object
  const char*
      type;  // JSON Schema type: "string", "integer", "number", "boolean", "object", "array"
  bool nullable;
  const char* unit;  // "ns", "bytes", "bytes/s", "elements", "" ...
  const char* help;
  bool optional = false;      // only where there is such a thing; others do without the key
  const char* limits = "{}";  // further keywords of JSON Schema, as JSON: {"minimum":0}
  const char* absent = "";    // what it means that an optional one is not there, as JSON
};

// Rows that were put together, with the texts that they need.
class FieldRows {
 public:
  void add(const std::string& path, const std::string& absent, FieldRow row);
  std::span<const FieldRow> all() const { return rows_; }

 private:
  const char* kept(const std::string& text);

  std::vector<std::unique_ptr<const std::string>> texts_;
  std::vector<FieldRow> rows_;
};

// The schema of any such table as text with a newline at the end: every field that is not optional
// is required, none may stand beside them; and its Markdown table.
std::string schema_json(std::span<const FieldRow> rows, const std::string& title);
std::string fields_markdown(std::span<const FieldRow> rows);

}  // namespace plumbline
