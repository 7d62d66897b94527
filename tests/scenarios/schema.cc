// The key table as JSON Schema, draft-07, for editors and for the tests' second opinion.

#include "tests/scenarios/schema.h"

#include "core/json.h"
#include "scenarios/json_text.h"
#include "scenarios/key_table.h"
#include "tests/scenarios/schema_rules.h"

namespace plumbline::scenario_docs {
namespace {

// Numbers without a fraction as such, so that the text shows 1 and not 1.0.
Json json_number(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json object_schema(const std::string& prefix, const Vocabulary& vocabulary);

Json bounded(const char* type, const KeyRow& row) {
  return Json{{"type", type}, {"minimum", json_number(row.min)}, {"maximum", json_number(row.max)}};
}

Json free_text(const KeyRow& row) {
  Json schema = {{"type", "string"}};
  if (const char* pattern = text_pattern(row.path)) schema["pattern"] = pattern;
  return schema;
}

// One schema for each shape of the mask.
std::vector<Json> shape_schemas(const KeyRow& row, unsigned mask, const std::string& path,
                                const Vocabulary& vocabulary) {
  std::vector<Json> out;
  if ((mask & kInt) != 0) out.push_back(bounded("integer", row));
  if ((mask & kReal) != 0) out.push_back(bounded("number", row));
  if ((mask & kSize) != 0) {
    out.push_back(bounded("integer", row));
    out.push_back({{"type", "string"}, {"pattern", kSizePattern}});
  }
  if ((mask & kDuration) != 0) {
    // None that is 0; that it is at most a day no pattern says.
    out.push_back({{"type", "string"},
                   {"pattern", kDurationPattern},
                   {"not", {{"pattern", "^0*\\.?0*([eE][+-]?[0-9]+)?[a-z]+$"}}}});
  }
  if ((mask & kBool) != 0) out.push_back({{"type", "boolean"}});
  if ((mask & kText) != 0) {
    const std::vector<std::string> words = accepted_words(row, vocabulary);
    Json text = free_text(row);
    if (!words.empty()) text["enum"] = words;
    out.push_back(std::move(text));
    for (const std::string& pattern : parameter_patterns(row, vocabulary)) {
      out.push_back({{"type", "string"}, {"pattern", pattern}});
    }
  }
  if ((mask & kScalar) != 0) out.push_back({{"type", {"string", "number", "boolean"}}});
  if ((mask & kObject) != 0) out.push_back(object_schema(path + ".", vocabulary));
  if ((mask & kTexts) != 0) {
    Json list = {{"type", "array"}, {"items", free_text(row)}};
    // Where null may stand, an empty one is as good on the diagonal only: no schema can say that.
    if ((mask & kNull) == 0) list["minItems"] = 1;
    list["maxItems"] = kMaxListLength;
    out.push_back(std::move(list));
  }
  if ((mask & kNull) != 0) out.push_back({{"type", "null"}});
  return out;
}

Json any_of(std::vector<Json> schemas) {
  return schemas.size() == 1 ? schemas.front() : Json{{"anyOf", std::move(schemas)}};
}

Json row_schema(const KeyRow& row, const Vocabulary& vocabulary) {
  const std::string path = row.path;
  std::vector<Json> choices = shape_schemas(row, row.one, path, vocabulary);
  if (row.each != 0) {
    Json list = {{"type", "array"},
                 {"items", any_of(shape_schemas(row, row.each, path + "[]", vocabulary))}};
    if (!may_be_empty(row)) list["minItems"] = 1;
    list["maxItems"] = kMaxListLength;
    choices.push_back(std::move(list));
  }
  Json schema = any_of(std::move(choices));
  Json described = {{"description", help_of(row)}};
  described.update(schema);
  return described;
}

// Any name, names of a list beside the object's own, or names that have schemas of their own.
void add_wildcard(const KeyRow& row, const std::string& prefix, const Vocabulary& vocabulary,
                  Json& schema, Json& properties) {
  const Json named = names_with_schemas(prefix, vocabulary);
  if (!named.empty()) {
    properties.update(named);
    return;
  }
  schema["additionalProperties"] = row_schema(row, vocabulary);
  Json names = names_of_wildcard(prefix, vocabulary);
  if (names.empty()) return;
  for (const KeyRow* own : keys_within(prefix)) {
    const std::string name = std::string(own->path).substr(prefix.size());
    if (name != "*") names.push_back(name);
  }
  schema["propertyNames"] = {{"enum", std::move(names)}};
}

Json object_schema(const std::string& prefix, const Vocabulary& vocabulary) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  Json properties = Json::object(), required = Json::array();
  for (const KeyRow* row : keys_within(prefix)) {
    const std::string name = std::string(row->path).substr(prefix.size());
    if (name == "*") {
      add_wildcard(*row, prefix, vocabulary, schema, properties);
    } else {
      properties[name] = row_schema(*row, vocabulary);
      if (row->required) required.push_back(name);
    }
  }
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  std::vector<Json> rules = object_rules(prefix, vocabulary);
  if (!rules.empty()) schema["allOf"] = std::move(rules);
  return schema;
}

}  // namespace

std::string scenario_schema(const Vocabulary& vocabulary) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "plumbline scenario"},
                 {"description", "What to probe, what to measure and how to report it."}};
  schema.update(object_schema("", vocabulary));
  schema["definitions"] = rule_definitions();
  return json_text(schema, 2);
}

}  // namespace plumbline::scenario_docs
