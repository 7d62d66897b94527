// First check of a parsed scenario: does every value have the shape that its row of the key table
// asks for? What does not is reported and taken out, so that later steps see sound values only.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/json_text.h"
#include "scenarios/problems.h"

namespace plumbline {

// `file` = "" for the scenario itself; an included file's name stands before the paths of its
// problems.
void check_shape(Json& root, const std::string& file, const Vocabulary& vocabulary,
                 Problems& problems);
// The same for one value of the tree, whose row has the path `table_path`.
void check_shape_of(Json& parent, const std::string& key, const std::string& table_path,
                    const Vocabulary& vocabulary, Problems& problems);

// The number that a sound kInt or kSize number is; 1e6 counts as 1000000.
uint64_t whole_number(const Json& value);

}  // namespace plumbline
