// What `plan` refuses beyond the shape of single keys, as pieces of JSON Schema: keys that belong
// together or exclude each other, forms of text, values of options. What a schema cannot say
// (values compared with one another, names used elsewhere in the file, files and hosts) is left to
// plan; tests/scenarios/broken_samples.cc lists it. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/options/options.h"
#include "scenarios/json_text.h"
#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace plumbline::scenario_docs {

// Numbers as core/units.h reads them, with their units.
inline constexpr const char* kSizePattern =
    "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?(Ki|Mi|Gi|Ti|[KkMmGg])?$";
inline constexpr const char* kDurationPattern =
    "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)?(ns|us|ms|s|m|h)$";

// The form of free text under this path, as a regular expression; nullptr = any.
const char* text_pattern(const std::string& path);
// What may stand beside the words of a row: algorithms with a parameter behind the colon.
std::vector<std::string> parameter_patterns(const KeyRow& row, const Vocabulary& vocabulary);

// What the rules refer to: the schema's `definitions`.
Json rule_definitions();

// Schemas that the object with this prefix ("" = the file, "matrix[].") must satisfy all, beside
// what its keys say.
std::vector<Json> object_rules(const std::string& prefix, const Vocabulary& vocabulary);

// What may stand for the wildcard of an object: names with schemas of their own and no others, or
// names that share the wildcard's schema. Where both are empty it is any name.
Json names_with_schemas(const std::string& prefix, const Vocabulary& vocabulary);
std::vector<std::string> names_of_wildcard(const std::string& prefix, const Vocabulary& vocabulary);

// Options of the data path under `config`: name -> schema of its value. `of_block`: those of a
// block's own `config`.
Json option_schemas(bool of_block, const Vocabulary& vocabulary);

}  // namespace plumbline::scenario_docs
