// Reading one block of the matrix, and the small readers of values that other keys share. The
// values are sound (see shape.h). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/json_text.h"
#include "scenarios/problems.h"

namespace plumbline {

MatrixBlock read_block(const Json& block, const std::string& where, Problems& problems);
// What only blocks of links have.
void read_link_keys(const Json& block, const std::string& where, Problems& problems,
                    MatrixBlock& out);

// A text or a list of texts.
std::vector<std::string> texts(const Json& value);
// Text as it is, numbers and booleans as the option table spells them.
std::string scalar_text(const Json& value);
std::map<std::string, std::string> read_options(const Json& object);

}  // namespace plumbline
