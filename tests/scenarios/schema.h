// What the docs tell about scenarios, made from the program's tables: the JSON Schema of
// docs/scenario.schema.json and the reference part of docs/scenario_format.md. Only the tests that
// compare the two call it. Pure.
#pragma once

#include <string>

#include "scenarios/key_table.h"

namespace plumbline::scenario_docs {

// The JSON Schema (draft-07) generated from the key table and what belongs to it (schema_rules.h).
// Names of which the vocabulary lists none stay free text; docs/scenario.schema.json is the schema
// of the program's own vocabulary.
std::string scenario_schema(const Vocabulary& vocabulary);
// Every key with type, default and meaning, as Markdown.
std::string scenario_reference_markdown();

// What to say of a key: the help of its row, or, where it has none, that of the table of kinds.
std::string help_of(const KeyRow& row);

}  // namespace plumbline::scenario_docs
