#include "core/field.h"

#include <fmt/format.h>

#include "core/field_json.h"
#include "core/json.h"

namespace plumbline {
namespace {

// The row's own type, with null where it may be.
nlohmann::json type_of(const FieldRow& row) {
  if (row.nullable) return {row.type, "null"};
  return row.type;
}

// Schema of everything directly below `prefix` ("" = the record itself).
nlohmann::json object_below(std::span<const FieldRow> rows, const std::string& prefix);

nlohmann::json schema_of(std::span<const FieldRow> rows, const FieldRow& row) {
  const std::string path = row.path;
  nlohmann::json schema = {{"type", type_of(row)}, {"description", row.help}};
  schema.update(nlohmann::json::parse(row.limits));
  if (*row.absent != '\0') schema["default"] = nlohmann::json::parse(row.absent);
  for (const FieldRow& other : rows) {
    if (other.path == path + "[]") schema["items"] = schema_of(rows, other);
  }
  if (std::string_view(row.type) == "object") schema.update(object_below(rows, path + "."));
  return schema;
}

nlohmann::json object_below(std::span<const FieldRow> rows, const std::string& prefix) {
  nlohmann::json properties = nlohmann::json::object();
  nlohmann::json required = nlohmann::json::array();
  nlohmann::json schema = nlohmann::json::object();
  for (const FieldRow& row : rows) {
    const std::string path = row.path;
    if (path.rfind(prefix, 0) != 0) continue;
    const std::string name = path.substr(prefix.size());
    if (name.find_first_of(".[") != std::string::npos) continue;
    if (name == "*") {
      schema["additionalProperties"] = schema_of(rows, row);
      return schema;
    }
    properties[name] = schema_of(rows, row);
    if (!row.optional) required.push_back(name);
  }
  if (properties.empty()) return schema;  // described in words only
  return {{"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace

const char* FieldRows::kept(const std::string& text) {
  return texts_.emplace_back(std::make_unique<const std::string>(text))->c_str();
}

void FieldRows::add(const std::string& path, const std::string& absent, FieldRow row) {
  row.path = kept(path);
  row.absent = kept(absent);
  rows_.push_back(row);
}

std::string schema_json(std::span<const FieldRow> rows, const std::string& title) {
  nlohmann::json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}, {"type", "object"}};
  schema.update(object_below(rows, ""));
  return json_text(schema);
}

std::string value_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.10g}", value.get<double>());
  if (!value.is_structured()) return value.is_null() ? "" : value.dump();
  std::string text;
  for (const auto& [key, part] : value.items()) {
    if (!text.empty()) text += ';';
    text += (value.is_object() ? key + "=" : "") + value_text(part);
  }
  return text;
}

}  // namespace plumbline
