// The column of examples of the table of commands. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace plumbline {

// Empty for commands that nobody is shown.
std::vector<ExampleRow> examples_of(const std::string& command);

}  // namespace plumbline
